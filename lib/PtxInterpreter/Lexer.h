//===- Lexer.h - the tokens of PTX -------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_LEXER_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_LEXER_H

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::ptx {

struct Token {
  enum class Kind : uint8_t { Word, Integer, Float32, Float64, String, Mark, Location, End };
  Kind kind = Kind::End;
  std::string text;  ///< a Word may have dots and "::", a Mark is one character, a Location the text of a //@tw comment
  uint64_t bits = 0; ///< value of a number
  uint32_t line = 0, column = 0;
};

/// Splits `text` into tokens. The last token has the kind End. Returns false if a character cannot start a token, or if
/// a string or a comment has no end. In this case, sets `error` to "<line>:<column>: ...".
bool tokenize(const std::string &text, std::vector<Token> &tokens, std::string &error);

} // namespace tilewright::ptx

#endif
