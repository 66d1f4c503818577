//===- SizeExpression.cpp - sympy's text of a size as an affine expression -----===//
#include "lib/Import/Builder/SizeExpression.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Sizes.h"

using namespace mlir;
using llvm::StringRef;

namespace tilewright {
namespace {

/// A number that is computed from sizes, `over` / `under`. A size that Python computes with floats, such as `int(1.5 *
/// n)`, is exact if each intermediate float is exact. This is the case for fractions whose denominator is a power of
/// two. If `rounded` is set, the float may be inexact, as for n / 3, but its floor and ceiling are those of the exact
/// quotient.
struct Fraction {
  AffineExpr over;
  int64_t under = 1;
  bool rounded = false;
};

/// A recursive descent parser of this grammar: sum := product (('+'|'-') product)*,
/// product := unary (('*'|'//'|'/'|'%') unary)*, unary := '-' unary | atom ('**' unary)?,
/// atom := number | name | name '(' arguments ')' | '(' sum ')'.
class SizeParser {
public:
  SizeParser(StringRef text, const llvm::StringMap<SizeSymbol> &symbols, MLIRContext *context)
      : whole(text), rest(text), symbols(symbols), context(context) {}

  llvm::Expected<AffineExpr> run() {
    AffineExpr value = integer(sum());
    if (error.empty() && !peek().empty())
      fail("unexpected '" + rest.str() + "' at the end");
    if (!error.empty())
      return llvm::createStringError("size expression '" + whole.str() + "': " + error);
    return graph::canonicalSize(value);
  }

private:
  StringRef peek() { return rest = rest.ltrim(); }
  bool eat(StringRef token) {
    if (!peek().starts_with(token))
      return false;
    rest = rest.drop_front(token.size());
    return true;
  }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, context); }
  Fraction number(int64_t value) { return {constant(value)}; }
  Fraction fail(const std::string &why) {
    if (error.empty())
      error = why;
    rest = "";
    return number(1);
  }

  Fraction sum() {
    Fraction value = product();
    for (;;) {
      if (eat("+"))
        value = add(value, product());
      else if (eat("-"))
        value = add(value, times(number(-1), product()));
      else
        return value;
    }
  }

  Fraction product() {
    Fraction value = unary();
    for (;;) {
      if (eat("//"))
        value = divide(value, unary());
      else if (peek().starts_with("*") && !peek().starts_with("**") && eat("*"))
        value = times(value, unary());
      else if (eat("%"))
        value = modulo(value, unary());
      else if (peek().starts_with("/") && eat("/"))
        value = divide(value, unary()); // sympy prints `/` only for exact quotients
      else
        return value;
    }
  }

  Fraction unary() {
    if (eat("-"))
      return times(number(-1), unary());
    Fraction base = atom();
    if (!eat("**"))
      return base;
    return power(base, unary());
  }

  Fraction power(const Fraction &base, const Fraction &exponent) {
    auto count = dyn_cast<AffineConstantExpr>(exponent.over);
    if (!count || exponent.under != 1 || count.getValue() < 0 || count.getValue() > 8)
      return fail("only small constant powers are supported");
    Fraction value = number(1);
    for (int64_t i = 0; i < count.getValue(); ++i)
      value = times(value, base);
    return value;
  }

  Fraction atom() {
    if (eat("(")) {
      Fraction value = sum();
      return eat(")") ? value : fail("a ')' is missing");
    }
    StringRef token = peek().take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(token.size());
    if (token.empty())
      return fail(rest.empty() ? "it is incomplete" : "unexpected '" + rest.take_front(1).str() + "'");
    int64_t value;
    if (!token.getAsInteger(10, value))
      return number(value);
    if (llvm::isDigit(token.front()))
      return fraction(token);
    if (eat("("))
      return call(token);
    return symbol(token);
  }

  Fraction symbol(StringRef name) {
    auto found = symbols.find(name);
    if (found == symbols.end())
      return fail("the symbol " + name.str() + " belongs to no input of this graph");
    return {found->second.expr};
  }

  /// Parses a float. Fails if the float has so many fractional bits that its products with sizes would be rounded.
  Fraction fraction(StringRef text) {
    constexpr int64_t most = 1 << 20;
    double value;
    if (text.getAsDouble(value))
      return fail("'" + text.str() + "' is not a number");
    int64_t under = 1;
    for (; under < most && std::trunc(value) != value && std::fabs(value) < most; under *= 2)
      value *= 2;
    if (std::trunc(value) != value || std::fabs(value) > most)
      return fail("the product of a size and " + text.str() +
                  " is rounded; only fractions by a small power of two are exact");
    return {constant(int64_t(value)), under};
  }

  Fraction call(StringRef name) {
    if (name == "Symbol" || name == "Float") {
      if (!eat("'"))
        return fail("the text of a " + name.str() + " is missing");
      StringRef text = rest.take_until([](char c) { return c == '\''; });
      rest = rest.drop_until([](char c) { return c == ')'; });
      eat(")");
      return name == "Symbol" ? symbol(text) : fraction(text);
    }
    SmallVector<Fraction> arguments;
    while (error.empty() && !eat(")")) {
      arguments.push_back(sum());
      if (!eat(",") && !peek().starts_with(")"))
        return fail("a ')' is missing after the arguments of " + name.str());
    }
    if (arguments.empty())
      return fail(name.str() + " has no arguments");
    if (name == "Integer" || name == "ToFloat" || name == "Identity")
      return arguments[0];
    if (name == "TruncToInt" || name == "FloorToInt" || name == "CeilToInt" || name == "RoundToInt")
      return toInteger(name, arguments[0]);
    if (name == "Add" || name == "Mul" || name == "Max" || name == "Min") {
      Fraction value = arguments[0];
      for (const Fraction &next : ArrayRef(arguments).drop_front())
        value = name == "Add"   ? add(value, next)
                : name == "Mul" ? times(value, next)
                                : extreme(value, next, name == "Max");
      return value;
    }
    if (arguments.size() != 2)
      return fail(name.str() + " needs two arguments");
    if (name == "Pow" || name == "PowByNatural")
      return power(arguments[0], arguments[1]);
    if (name == "FloorDiv" || name == "CleanDiv")
      return divide(arguments[0], arguments[1]);
    if (name == "IntTrueDiv" || name == "FloatTrueDiv")
      return trueDivide(arguments[0], arguments[1]);
    if (name == "CeilDiv") {
      AffineExpr a = integer(arguments[0]), b = integer(arguments[1]);
      return positive(b) ? Fraction{a.ceilDiv(b)} : number(1);
    }
    if (name == "Mod" || name == "PythonMod")
      return modulo(arguments[0], arguments[1]);
    return fail("the function " + name.str() +
                " is not supported in sizes; supported are + - * // % ** FloorDiv, CeilDiv, CleanDiv, Mod, PythonMod, "
                "Max and Min, and floats made integers by TruncToInt, FloorToInt and CeilToInt");
  }

  /// Returns the expression of `value`. Fails if it is not an integer.
  AffineExpr integer(const Fraction &value) {
    if (value.under != 1)
      fail("a fraction is used where an integer is needed");
    return value.over;
  }
  /// Fails if `value` was rounded; returns true if there is no error.
  bool exact(const Fraction &value) {
    if (value.rounded)
      fail("a rounded quotient is used in a computation");
    return error.empty();
  }
  Fraction add(const Fraction &a, const Fraction &b) {
    if (!exact(a) || !exact(b))
      return number(1);
    const int64_t under = std::max(a.under, b.under); // powers of two
    return {a.over * (under / a.under) + b.over * (under / b.under), under};
  }
  Fraction times(const Fraction &a, const Fraction &b) {
    if (!exact(a) || !exact(b))
      return number(1);
    return small(a.over * b.over, a.under * b.under);
  }
  /// Returns the fraction `over` / `under`, reduced by 2 as long as the numerator is known to be even.
  Fraction small(AffineExpr over, int64_t under) {
    while (under % 2 == 0 && over.isMultipleOf(2)) {
      over = graph::canonicalSize(over.floorDiv(2));
      under /= 2;
    }
    return under > int64_t(1) << 30 ? fail("its fractions are too small") : Fraction{over, under};
  }
  bool positive(AffineExpr divisor) {
    auto constant = dyn_cast<AffineConstantExpr>(divisor);
    if (constant && constant.getValue() <= 0)
      fail("division by " + std::to_string(constant.getValue()));
    return error.empty();
  }
  Fraction divide(const Fraction &a, const Fraction &b) {
    AffineExpr over = integer(a), under = integer(b);
    return positive(under) ? Fraction{over.floorDiv(under)} : number(1);
  }
  Fraction modulo(const Fraction &a, const Fraction &b) {
    AffineExpr over = integer(a), under = integer(b);
    return positive(under) ? Fraction{over % under} : number(1);
  }
  Fraction trueDivide(const Fraction &a, const Fraction &b) {
    auto divisor = dyn_cast<AffineConstantExpr>(b.over);
    if (!exact(a) || !exact(b))
      return number(1);
    if (!divisor || divisor.getValue() <= 0 || divisor.getValue() > 1 << 20)
      return fail("only quotients by a positive constant are supported in sizes");
    AffineExpr over = a.over * b.under;
    if (llvm::isPowerOf2_64(divisor.getValue()))
      return small(over, a.under * divisor.getValue());
    return {over, a.under * divisor.getValue(), /*rounded=*/true};
  }
  /// Converts a fraction to an integer. A quotient below 2^52 that is correctly rounded to a float has the same floor
  /// and ceiling as the exact quotient.
  Fraction toInteger(StringRef name, const Fraction &value) {
    if (value.under == 1)
      return value;
    AffineExpr under = constant(value.under);
    if (name == "CeilToInt")
      return {value.over.ceilDiv(under)};
    if (name == "RoundToInt")
      return fail("RoundToInt of a fraction is not supported");
    if (name == "TruncToInt" && rangeOf(graph::canonicalSize(value.over), symbols).first < 0)
      return fail("TruncToInt of a number that may be negative is not supported");
    return {value.over.floorDiv(under)};
  }

  /// Returns the larger (or smaller) of two numbers. Fails if the ranges of the symbols do not determine which one it
  /// is.
  Fraction extreme(const Fraction &a, const Fraction &b, bool larger) {
    Fraction difference = add(a, times(number(-1), b));
    auto [low, high] = rangeOf(graph::canonicalSize(difference.over), symbols);
    if (low >= 0)
      return larger ? a : b;
    if (high <= 0)
      return larger ? b : a;
    return fail(
        "the ranges of the symbols do not determine which operand of Max or Min is the result; narrow the ranges with "
        "torch._dynamo.mark_dynamic(x, dim, min=..., max=...)");
  }

  StringRef whole, rest;
  const llvm::StringMap<SizeSymbol> &symbols;
  MLIRContext *context;
  std::string error;
};

} // namespace

llvm::Expected<AffineExpr> parseSize(StringRef text, const llvm::StringMap<SizeSymbol> &symbols, MLIRContext *context) {
  return SizeParser(text, symbols, context).run();
}

std::pair<double, double> rangeOf(AffineExpr expr, const llvm::StringMap<SizeSymbol> &symbols) {
  return graph::rangeOf(expr, [&](unsigned position) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const auto &entry : symbols)
      if (cast<AffineSymbolExpr>(entry.second.expr).getPosition() == position)
        return std::pair(double(entry.second.min), entry.second.max == INT64_MAX ? infinity : double(entry.second.max));
    return std::pair(-infinity, infinity);
  });
}

} // namespace tilewright
