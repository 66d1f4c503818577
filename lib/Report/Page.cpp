//===- Page.cpp - records as one self-contained HTML file ----------------------------===//
//
// Records contain names and texts from untrusted sources. The records are embedded as JSON without any character that
// could end the enclosing element. The content security policy of the page allows only the page's script and style
// sheet, which it identifies by their hashes. The page loads no other files.
//
// Tests: test/Python/test_explain_html.py, test/Python/test_explain_browser.py
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/JsonText.h"
#include "lib/Report/PageFiles.h"
#include "lib/Report/Record.h"
#include "tilewright/Explain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/SHA256.h"

namespace tilewright {
namespace {

/// Appends `json` with escapes for the characters that are special in HTML; in JSON these occur only in strings.
void append(std::string &out, llvm::StringRef json) {
  for (char c : json)
    switch (c) {
    case '<':
      out += "\\u003c";
      break;
    case '>':
      out += "\\u003e";
      break;
    case '&':
      out += "\\u0026";
      break;
    default:
      out += c;
    }
}

/// Returns the hash of an element's text in the format of a content security policy.
std::string hashOf(llvm::StringRef text) {
  return "'sha256-" + llvm::encodeBase64(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text))) + "'";
}

} // namespace

llvm::Expected<std::string> explainPage(llvm::ArrayRef<std::string> records, llvm::StringRef against,
                                        llvm::StringRef program) {
  if (records.empty())
    return llvm::createStringError("there is no record to show: nothing was compiled");
  std::string data = "{\"records\":[";
  for (const std::string &record : records) {
    if (auto read = explain::readRecord(record); !read)
      return read.takeError();
    data += data.back() == '[' ? "\n" : ",\n";
    append(data, record);
  }
  data += "],\"against\":";
  if (!against.empty())
    if (auto read = explain::readRecord(against); !read)
      return llvm::createStringError("cannot compare: " + llvm::toString(read.takeError()));
  append(data, against.empty() ? "null" : against);
  if (!program.empty())
    if (auto read = parseJson(program); !read)
      return llvm::createStringError("the description of the program is not JSON: " + llvm::toString(read.takeError()));
  data += ",\"program\":";
  append(data, program.empty() ? "null" : program);
  data += "}";

  const std::string script = explain::pageScript();
  const llvm::StringRef style = explain::pageStyle();
  const std::string policy = "default-src 'none'; script-src " + hashOf(script) + "; style-src " + hashOf(style) +
                             "; base-uri 'none'; form-action 'none'";
  std::string page;
  llvm::StringRef rest = explain::pageTemplate();
  while (!rest.empty()) {
    auto [text, tail] = rest.split("{{");
    page += text;
    auto [name, next] = tail.split("}}");
    page += name == "policy"   ? llvm::StringRef(policy)
            : name == "style"  ? style
            : name == "data"   ? llvm::StringRef(data)
            : name == "script" ? llvm::StringRef(script)
                               : llvm::StringRef();
    rest = next;
  }
  return page;
}

} // namespace tilewright
