//===- Lexer.cpp - the tokens of PTX -----------------------------------------------===//
//
// An opcode with its modifiers (ld.shared::cta.b32) is one token. A special register (%tid.x) is also one token.
// Comments are ignored, except those that begin with //@tw, which specify the source location of the following
// statements.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lexer.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace tilewright::ptx {
namespace {

class Lexer {
public:
  Lexer(const std::string &text, std::vector<Token> &tokens) : text(text), tokens(tokens) {}

  bool run(std::string &error) {
    while (skipSpace(error)) {
      Token token;
      token.line = line;
      token.column = uint32_t(at - lineStart + 1);
      if (at == text.size()) {
        tokens.push_back(std::move(token));
        return true;
      }
      char c = text[at];
      if (isdigit(uint8_t(c)))
        number(token);
      else if (isalpha(uint8_t(c)) || c == '_' || c == '$' || c == '%' || c == '.')
        word(token);
      else if (c == '"') {
        size_t end = text.find('"', at + 1);
        if (end == std::string::npos)
          return fail(error, "the string has no end");
        token.kind = Token::Kind::String;
        token.text = text.substr(at + 1, end - at - 1);
        at = end + 1;
      } else if (std::string_view("()[]{}<>,;:=+-|!@*/&~^").find(c) != std::string_view::npos) {
        token.kind = Token::Kind::Mark;
        token.text = c;
        ++at;
      } else
        return fail(error, std::string("unexpected character '") + c + "'");
      tokens.push_back(std::move(token));
    }
    return false;
  }

private:
  bool fail(std::string &error, const std::string &what) {
    error = std::to_string(line) + ":" + std::to_string(at - lineStart + 1) + ": " + what;
    return false;
  }

  bool skipSpace(std::string &error) {
    while (at < text.size()) {
      char c = text[at];
      if (c == '\n') {
        ++line;
        lineStart = ++at;
      } else if (isspace(uint8_t(c)) || c == '\0')
        ++at;
      else if (text.compare(at, 2, "//") == 0) {
        size_t end = std::min(text.find('\n', at), text.size());
        if (text.compare(at, 6, "//@tw ") == 0) {
          Token token;
          token.kind = Token::Kind::Location;
          token.text = text.substr(at + 6, end - at - 6);
          token.line = line;
          tokens.push_back(std::move(token));
        }
        at = end;
      } else if (text.compare(at, 2, "/*") == 0) {
        size_t end = text.find("*/", at + 2);
        if (end == std::string::npos)
          return fail(error, "the comment has no end");
        for (; at < end; ++at)
          if (text[at] == '\n') {
            ++line;
            lineStart = at + 1;
          }
        at = end + 2;
      } else
        break;
    }
    return true;
  }

  void word(Token &token) {
    size_t begin = at++;
    while (at < text.size()) {
      char c = text[at];
      if (isalnum(uint8_t(c)) || c == '_' || c == '$' || c == '.' || c == '%')
        ++at;
      else if (c == ':' && at + 1 < text.size() && text[at + 1] == ':')
        at += 2;
      else
        break;
    }
    token.kind = Token::Kind::Word;
    token.text = text.substr(begin, at - begin);
  }

  void number(Token &token) {
    size_t begin = at;
    char form = at + 1 < text.size() && text[at] == '0' ? char(tolower(text[at + 1])) : ' ';
    size_t digits = form == 'f' ? 8 : form == 'd' ? 16 : 0;
    if (digits) {
      token.kind = form == 'f' ? Token::Kind::Float32 : Token::Kind::Float64;
      token.bits = strtoull(text.substr(at + 2, digits).c_str(), nullptr, 16);
      at = std::min(at + 2 + digits, text.size());
      return;
    }
    token.kind = Token::Kind::Integer;
    if (form == 'x' || form == 'b') {
      for (at += 2; at < text.size() && isxdigit(uint8_t(text[at]));)
        ++at;
      token.bits = strtoull(text.substr(begin + 2, at - begin - 2).c_str(), nullptr, form == 'x' ? 16 : 2);
    } else {
      while (at < text.size() && isdigit(uint8_t(text[at])))
        ++at;
      if (at < text.size() && (text[at] == '.' || text[at] == 'e' || text[at] == 'E')) {
        double value = 0;
        token.kind = Token::Kind::Float64;
        at = size_t(std::from_chars(text.data() + begin, text.data() + text.size(), value).ptr - text.data());
        token.bits = std::bit_cast<uint64_t>(value);
        return;
      }
      token.bits = strtoull(text.substr(begin, at - begin).c_str(), nullptr, text[begin] == '0' ? 8 : 10);
    }
    if (at < text.size() && (text[at] == 'U' || text[at] == 'u'))
      ++at;
  }

  const std::string &text;
  std::vector<Token> &tokens;
  size_t at = 0, lineStart = 0;
  uint32_t line = 1;
};

} // namespace

bool tokenize(const std::string &text, std::vector<Token> &tokens, std::string &error) {
  return Lexer(text, tokens).run(error);
}

} // namespace tilewright::ptx
