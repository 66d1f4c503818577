//===- SizeExpression.cpp - sympy's text of a size as an affine expression -----===//
#include "lib/Frontend/SizeExpression.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;
using llvm::StringRef;

namespace tilewright {
namespace {

/// Recursive descent: sum := product (('+'|'-') product)*, product := unary (('*'|'//'|'%') unary)*,
/// unary := '-' unary | power, power := atom ('**' number)?, atom := number | name | name '(' arguments ')' | '(' sum
/// ')'.
class SizeParser {
public:
  SizeParser(StringRef text, const llvm::StringMap<SizeSymbol> &symbols, MLIRContext *context)
      : whole(text), rest(text), symbols(symbols), context(context) {}

  llvm::Expected<AffineExpr> run() {
    AffineExpr value = sum();
    if (error.empty() && !peek().empty())
      fail("'" + rest.str() + "' is left over");
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
  AffineExpr number(int64_t value) { return getAffineConstantExpr(value, context); }
  AffineExpr fail(const std::string &why) {
    if (error.empty())
      error = why;
    rest = "";
    return number(1);
  }

  AffineExpr sum() {
    AffineExpr value = product();
    for (;;) {
      if (eat("+"))
        value = value + product();
      else if (eat("-"))
        value = value - product();
      else
        return value;
    }
  }

  AffineExpr product() {
    AffineExpr value = unary();
    for (;;) {
      if (eat("//"))
        value = divide(value, unary());
      else if (peek().starts_with("*") && !peek().starts_with("**") && eat("*"))
        value = value * unary();
      else if (eat("%"))
        value = modulo(value, unary());
      else if (peek().starts_with("/") && eat("/"))
        value = exactDivide(value, unary());
      else
        return value;
    }
  }

  AffineExpr unary() {
    if (eat("-"))
      return -unary();
    AffineExpr base = atom();
    if (!eat("**"))
      return base;
    return power(base, unary());
  }

  AffineExpr power(AffineExpr base, AffineExpr exponent) {
    auto count = dyn_cast<AffineConstantExpr>(exponent);
    if (!count || count.getValue() < 0 || count.getValue() > 8)
      return fail("only small constant powers are supported");
    AffineExpr value = number(1);
    for (int64_t i = 0; i < count.getValue(); ++i)
      value = value * base;
    return value;
  }

  AffineExpr atom() {
    if (eat("(")) {
      AffineExpr value = sum();
      return eat(")") ? value : fail("a ')' is missing");
    }
    StringRef token = peek().take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(token.size());
    if (token.empty())
      return fail(rest.empty() ? "it ends too early" : "unexpected '" + rest.take_front(1).str() + "'");
    int64_t value;
    if (!token.getAsInteger(10, value))
      return number(value);
    if (eat("("))
      return call(token);
    auto symbol = symbols.find(token);
    if (symbol == symbols.end())
      return fail("the symbol " + token.str() + " belongs to no input of this graph");
    return symbol->second.expr;
  }

  AffineExpr call(StringRef name) {
    if (name == "Symbol") {
      if (!eat("'"))
        return fail("a symbol's name is missing");
      StringRef symbolName = rest.take_until([](char c) { return c == '\''; });
      rest = rest.drop_until([](char c) { return c == ')'; });
      eat(")");
      auto symbol = symbols.find(symbolName);
      return symbol == symbols.end() ? fail("the symbol " + symbolName.str() + " belongs to no input of this graph")
                                     : symbol->second.expr;
    }
    SmallVector<AffineExpr> arguments;
    while (error.empty() && !eat(")")) {
      arguments.push_back(sum());
      if (!eat(",") && !peek().starts_with(")"))
        return fail("a ')' is missing after the arguments of " + name.str());
    }
    if (arguments.empty())
      return fail(name.str() + " has no arguments");
    if (name == "Integer" || name == "ToFloat" || name == "TruncToInt" || name == "Identity")
      return arguments[0];
    if (name == "Add" || name == "Mul" || name == "Max" || name == "Min") {
      AffineExpr value = arguments[0];
      for (AffineExpr next : ArrayRef(arguments).drop_front())
        value = name == "Add" ? value + next : name == "Mul" ? value * next : extreme(value, next, name == "Max");
      return value;
    }
    if (arguments.size() != 2)
      return fail(name.str() + " wants two arguments");
    if (name == "Pow" || name == "PowByNatural")
      return power(arguments[0], arguments[1]);
    if (name == "FloorDiv")
      return divide(arguments[0], arguments[1]);
    if (name == "CleanDiv" || name == "IntTrueDiv")
      return exactDivide(arguments[0], arguments[1]);
    if (name == "CeilDiv" || name == "CeilToInt")
      return positive(arguments[1]) ? arguments[0].ceilDiv(arguments[1]) : number(1);
    if (name == "Mod" || name == "PythonMod")
      return modulo(arguments[0], arguments[1]);
    return fail("the function " + name.str() +
                " is not supported in sizes; supported are + - * // % ** FloorDiv, CeilDiv, "
                "CleanDiv, Mod, PythonMod, Max and Min");
  }

  bool positive(AffineExpr divisor) {
    auto constant = dyn_cast<AffineConstantExpr>(divisor);
    if (constant && constant.getValue() <= 0)
      fail("division by " + std::to_string(constant.getValue()));
    return error.empty();
  }
  AffineExpr divide(AffineExpr a, AffineExpr b) { return positive(b) ? a.floorDiv(b) : number(1); }
  AffineExpr exactDivide(AffineExpr a, AffineExpr b) { return positive(b) ? a.floorDiv(b) : number(1); }
  AffineExpr modulo(AffineExpr a, AffineExpr b) { return positive(b) ? a % b : number(1); }

  /// The larger (or smaller) of two, where the ranges decide.
  AffineExpr extreme(AffineExpr a, AffineExpr b, bool larger) {
    AffineExpr difference = graph::canonicalSize(a - b);
    auto [low, high] = rangeOf(difference, symbols);
    if (low >= 0)
      return larger ? a : b;
    if (high <= 0)
      return larger ? b : a;
    return fail("the ranges of the symbols do not decide which side of Max or Min is taken; narrow them with "
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
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {double(constant.getValue()), double(constant.getValue())};
  if (isa<AffineSymbolExpr>(expr)) {
    for (const auto &entry : symbols)
      if (entry.second.expr == expr)
        return {double(entry.second.min), entry.second.max == INT64_MAX ? infinity : double(entry.second.max)};
    return {-infinity, infinity};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return {-infinity, infinity};
  auto [a, b] = rangeOf(binary.getLHS(), symbols);
  auto [c, d] = rangeOf(binary.getRHS(), symbols);
  auto times = [](double x, double y) { return x == 0 || y == 0 ? 0.0 : x * y; };
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return {a + c, b + d};
  case AffineExprKind::Mul: {
    double corners[] = {times(a, c), times(a, d), times(b, c), times(b, d)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  case AffineExprKind::FloorDiv:
    if (c > 0 && c == d)
      return {std::floor(a / c), std::floor(b / c)};
    return {-infinity, infinity};
  case AffineExprKind::Mod:
    return c > 0 ? std::pair{0.0, d - 1} : std::pair{-infinity, infinity};
  default:
    return {-infinity, infinity};
  }
}

} // namespace tilewright
