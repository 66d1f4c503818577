//===- Cursor.h - the parser's position in the text -------------------------------------===//
//
// A cursor consumes tokens one by one, and stores the last source location from .loc directives and //@tw comments.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_CURSOR_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_CURSOR_H

#include "lib/PtxInterpreter/Lexer.h"
#include "lib/PtxInterpreter/Syntax.h"

namespace tilewright::ptx {

/// Thrown if the text is invalid; the reason is in the cursor's error.
struct Refusal {};

class Cursor {
protected:
  Cursor(Syntax &syntax, std::string &error) : syntax(syntax), error(error) {}

  //===--- tokens ---===//
  const Token &peek() {
    while (tokens[at].kind == Token::Kind::Location) {
      commentLocation = tokens[at++].text;
      noteLocation();
    }
    return tokens[at];
  }
  Token take() {
    Token token = peek();
    if (token.kind != Token::Kind::End)
      ++at;
    return token;
  }
  [[noreturn]] void fail(const Token &where, const std::string &what) {
    error = syntax.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) + ": " + what;
    throw Refusal();
  }
  bool is(const char *text) {
    const Token &token = peek();
    return (token.kind == Token::Kind::Mark || token.kind == Token::Kind::Word) && token.text == text;
  }
  bool accept(const char *text) {
    if (!is(text))
      return false;
    take();
    return true;
  }
  void expect(const char *text) {
    if (!is(text))
      fail(peek(), std::string("expected '") + text + "', found " + shown(peek()));
    take();
  }
  static std::string shown(const Token &token) {
    if (token.kind == Token::Kind::End)
      return "the end of the file";
    return token.text.empty() ? "a number" : "'" + token.text + "'";
  }
  std::string word(const char *what) {
    if (peek().kind != Token::Kind::Word)
      fail(peek(), std::string("expected ") + what + ", found " + shown(peek()));
    return take().text;
  }
  uint64_t integer() {
    bool negative = accept("-");
    if (peek().kind != Token::Kind::Integer)
      fail(peek(), "expected an integer, found " + shown(peek()));
    uint64_t value = take().bits;
    return negative ? 0 - value : value;
  }
  std::vector<uint32_t> integers() {
    std::vector<uint32_t> list = {uint32_t(integer())};
    while (accept(","))
      list.push_back(uint32_t(integer()));
    return list;
  }

  //===--- locations ---===//
  void noteLocation() {
    std::string text = lineLocation;
    if (!commentLocation.empty())
      text += (text.empty() ? "" : " ") + commentLocation;
    for (location = 0; location < syntax.locations.size(); ++location)
      if (syntax.locations[location] == text)
        return;
    syntax.locations.push_back(text);
  }
  /// Collects all .file directives before parsing, because LLVM writes them after the functions that refer to them.
  void findFiles() {
    for (size_t i = 0; i + 2 < tokens.size(); ++i)
      if (tokens[i].kind == Token::Kind::Word && tokens[i].text == ".file" &&
          tokens[i + 1].kind == Token::Kind::Integer && tokens[i + 2].kind == Token::Kind::String)
        files.emplace(uint32_t(tokens[i + 1].bits), tokens[i + 2].text);
  }
  void fileDirective() {
    uint32_t number = uint32_t(integer());
    if (peek().kind != Token::Kind::String)
      fail(peek(), "expected the name of a file");
    files[number] = take().text;
    while (accept(","))
      integer();
  }
  void locDirective() {
    uint32_t file = uint32_t(integer()), line = uint32_t(integer()), column = uint32_t(integer());
    while (accept(",")) { // function_name <label>[+n], inlined_at <file> <line> <column>
      word("a word");
      while (peek().kind == Token::Kind::Integer || (peek().kind == Token::Kind::Word && peek().text[0] == '$') ||
             is("+"))
        take();
    }
    lineLocation = files.count(file) ? files[file] : "file" + std::to_string(file);
    lineLocation += ":" + std::to_string(line) + (column ? ":" + std::to_string(column) : "");
    if (!line) // line 0 means that the code has no source line
      lineLocation.clear();
    noteLocation();
  }
  /// Clears the source location of the following statements.
  void forgetLocation() {
    lineLocation.clear();
    commentLocation.clear();
    noteLocation();
  }

  Syntax &syntax;
  std::string &error;
  std::vector<Token> tokens;
  size_t at = 0;
  uint32_t location = 0; ///< index in Syntax::locations of the current source location

private:
  std::map<uint32_t, std::string> files;
  std::string lineLocation, commentLocation;
};

} // namespace tilewright::ptx

#endif
