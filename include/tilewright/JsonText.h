//===- JsonText.h - JSON in every locale and of every depth -------------------===//
//
// llvm::json writes and reads numbers by the host program's locale, and reads nested lists by recursion: a file of
// 200,000 brackets ends the process. All JSON that Tilewright writes or reads goes through here.
//
// Test: test/Python/test_locale.py, test/Unit/Compiler/JsonTextTest.cpp
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_JSONTEXT_H
#define TILEWRIGHT_JSONTEXT_H

#include "tilewright/NumberText.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright {

/// Lists and objects in each other beyond this are an error.
inline constexpr int maxJsonDepth = 200;

/// llvm::json::parse().
inline llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  int depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '\\')
      ++at;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
    else if (!quoted && (c == '[' || c == '{') && ++depth > maxJsonDepth)
      return llvm::createStringError(
          numberText("more than %d lists and objects in each other at byte %zu", maxJsonDepth, at));
  }
  PlainNumbers numbers;
  return llvm::json::parse(text);
}

/// The text of `value`, with line breaks if `indent` is not 0. Ends without one.
inline std::string jsonText(const llvm::json::Value &value, unsigned indent = 0) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  PlainNumbers numbers;
  llvm::json::OStream(stream, indent).value(value);
  return text;
}

} // namespace tilewright

#endif
