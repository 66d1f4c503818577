//===- JsonText.h - JSON in every locale, and with a limit on depth -----------===//
//
// llvm::json formats and parses numbers in the locale of the host program, and parses nested lists recursively: a file
// of 200,000 brackets ends the process. Code that uses llvm::json therefore parses with parseJson(), and writes with
// jsonText() or during the lifetime of a PlainNumbers (NumberText.h).
//
// Test: test/Python/test_locale.py, test/Unit/Driver/JsonTextTest.cpp
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_INTERFACES_JSONTEXT_H
#define TILEWRIGHT_LIB_INTERFACES_JSONTEXT_H

#include "lib/Interfaces/NumberText.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright {

/// The maximum depth of nested lists and objects.
inline constexpr int maxJsonDepth = 200;

/// Parses as llvm::json::parse() does, in the C locale, with a limit on the depth.
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
      return llvm::createStringError(numberText("more than %d nested lists and objects at byte %zu", maxJsonDepth, at));
  }
  PlainNumbers numbers;
  return llvm::json::parse(text);
}

/// Returns the text of `value`, with line breaks if `indent` is not 0, and no line break at the end.
inline std::string jsonText(const llvm::json::Value &value, unsigned indent = 0) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  PlainNumbers numbers;
  llvm::json::OStream(stream, indent).value(value);
  return text;
}

} // namespace tilewright

#endif
