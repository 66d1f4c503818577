//===- SizeText.cpp - check that the text of a size is cheap to evaluate -----------===//
#include "lib/Import/TorchExport/Reader/SizeText.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace tilewright::exported {
namespace {

constexpr unsigned deepest = 24;
constexpr size_t longest = 4096;
constexpr double mostTerms = 256;

/// Walks over `Head(argument, ...)`; an argument is another term, a name, a number, a quoted text or `name=value`.
class SizeWalker {
public:
  explicit SizeWalker(std::string_view text) : rest(text) {}

  std::string problem;

  /// Returns an upper bound for the number of terms of the expanded expression.
  double terms(unsigned depth) {
    if (depth > deepest)
      return fail("is nested too deeply");
    if (!rest.empty() && (rest[0] == '\'' || rest[0] == '-')) {
      if (rest[0] == '-') {
        rest.remove_prefix(1);
        word();
        return 1;
      }
      size_t end = rest.find('\'', 1);
      if (end == rest.npos)
        return fail("has an unterminated quote");
      rest.remove_prefix(end + 1);
      return 1;
    }
    std::string_view head = word();
    if (head.empty())
      return fail("is not an expression in the form that torch writes");
    if (!eat('('))
      return eat('=') ? terms(depth + 1) : 1;
    double total = head == "Mul" ? 1 : 0, first = 1;
    for (unsigned index = 0; problem.empty() && !eat(')'); ++index) {
      std::string_view before = rest;
      double of = terms(depth + 1);
      if (head == "Pow" && index == 1)
        of = exponentOf(before);
      if (index == 0)
        first = of;
      total = head == "Mul" ? total * of : head == "Pow" && index == 1 ? std::pow(first + 1, of) : total + of;
      if (total > mostTerms)
        return fail("multiplies out to too many terms");
      if (!eat(',') && (rest.empty() || rest[0] != ')'))
        return fail("lacks a ')'");
    }
    return head == "Symbol" || head == "Integer" ? 1 : std::max(total, 1.0);
  }

  bool done() {
    skip();
    return rest.empty();
  }

private:
  double fail(const char *what) {
    if (problem.empty())
      problem = what;
    rest = {};
    return 1;
  }
  void skip() {
    while (!rest.empty() && rest[0] == ' ')
      rest.remove_prefix(1);
  }
  bool eat(char token) {
    skip();
    if (rest.empty() || rest[0] != token)
      return false;
    rest.remove_prefix(1);
    skip();
    return true;
  }
  std::string_view word() {
    size_t size = 0;
    while (size < rest.size() &&
           (std::isalnum(static_cast<unsigned char>(rest[size])) || rest[size] == '_' || rest[size] == '.'))
      ++size;
    std::string_view result = rest.substr(0, size);
    rest.remove_prefix(size);
    return result;
  }
  /// Returns the value of a text such as `Integer(3)`. For other texts, returns a large exponent.
  static double exponentOf(std::string_view text) {
    constexpr std::string_view head = "Integer(";
    if (!text.starts_with(head))
      return mostTerms;
    double value = 0;
    for (char digit : text.substr(head.size())) {
      if (digit == ')')
        return value;
      if (digit < '0' || digit > '9')
        break;
      value = std::min(value * 10 + (digit - '0'), mostTerms);
    }
    return mostTerms;
  }

  std::string_view rest;
};

} // namespace

std::string checkSizeText(std::string_view text) {
  if (text.size() > longest)
    return "is longer than " + std::to_string(longest) + " characters";
  SizeWalker walker(text);
  walker.terms(0);
  if (walker.problem.empty() && !walker.done())
    return "has unexpected text at its end";
  return walker.problem;
}

} // namespace tilewright::exported
