//===- SpecialFunctions.h - formulas of float64 tensors -----------------------------===//
//
// Special functions are computed in float64 and rounded once. Their formulas use the C++ operators of the class Real,
// which emit ops. Example (without the polynomial near 0):
//
//   Real sphericalBesselJ0(Real x) { return where(isinf(x), 0.0, sin(x) / x); }
//   t["aten.special_spherical_bessel_j0.default"] = special<sphericalBesselJ0>;
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_SPECIALFUNCTIONS_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_SPECIALFUNCTIONS_H

#include "lib/Import/Builder/Node.h"
#include <limits>
#include <numbers>

namespace tilewright {

/// Numbers in the formulas.
namespace constants {
inline constexpr double pi = std::numbers::pi, infinity = std::numeric_limits<double>::infinity(),
                        nan = std::numeric_limits<double>::quiet_NaN();
} // namespace constants

/// A float64 tensor. Numbers in its operations become 0-d constants.
struct Real {
  Node *node;
  Value value;

  Real number(double constant) const { return {node, node->scalar(constant, node->f64())}; }
};

/// A boolean tensor.
struct Condition {
  Node *node;
  Value value;

  friend Condition operator|(Condition a, Condition b) {
    return {a.node, a.node->op<LogicalOrOp>({a.value, b.value}, a.node->i1())};
  }
  friend Condition operator&(Condition a, Condition b) {
    return {a.node, a.node->op<LogicalAndOp>({a.value, b.value}, a.node->i1())};
  }
};

#define TW_BINARY(NAME, OP)                                                                                            \
  inline Real NAME(Real a, Real b) { return {a.node, a.node->op<OP>({a.value, b.value})}; }                            \
  inline Real NAME(Real a, double b) { return NAME(a, a.number(b)); }                                                  \
  inline Real NAME(double a, Real b) { return NAME(b.number(a), b); }
TW_BINARY(operator+, AddOp)
TW_BINARY(operator-, SubOp)
TW_BINARY(operator*, MulOp)
TW_BINARY(operator/, DivOp)
TW_BINARY(maximum, MaximumOp)
TW_BINARY(minimum, MinimumOp)
TW_BINARY(pow, PowOp)
TW_BINARY(remainder, RemainderOp)
#undef TW_BINARY

#define TW_COMPARISON(NAME, OP)                                                                                        \
  inline Condition NAME(Real a, Real b) { return {a.node, a.node->compare<OP>(a.value, b.value)}; }                    \
  inline Condition NAME(Real a, double b) { return NAME(a, a.number(b)); }
TW_COMPARISON(operator<, LtOp)
TW_COMPARISON(operator<=, LeOp)
TW_COMPARISON(operator>, GtOp)
TW_COMPARISON(operator>=, GeOp)
TW_COMPARISON(operator==, EqOp)
#undef TW_COMPARISON

#define TW_UNARY(NAME, OP)                                                                                             \
  inline Real NAME(Real x) { return {x.node, x.node->op<OP>({x.value})}; }
TW_UNARY(operator-, NegOp)
TW_UNARY(abs, AbsOp)
TW_UNARY(sqrt, SqrtOp)
TW_UNARY(exp, ExpOp)
TW_UNARY(exp2, Exp2Op)
TW_UNARY(log, LogOp)
TW_UNARY(log1p, Log1pOp)
TW_UNARY(erf, ErfOp)
TW_UNARY(sin, SinOp)
TW_UNARY(cos, CosOp)
TW_UNARY(tan, TanOp)
TW_UNARY(acos, AcosOp)
TW_UNARY(sinh, SinhOp)
TW_UNARY(cosh, CoshOp)
TW_UNARY(acosh, AcoshOp)
TW_UNARY(floor, FloorOp)
TW_UNARY(round, RoundOp)
TW_UNARY(trunc, TruncOp)
#undef TW_UNARY

inline Condition isnan(Real x) { return {x.node, x.node->op<IsnanOp>({x.value}, x.node->i1())}; }
inline Condition isinf(Real x) { return {x.node, x.node->op<IsinfOp>({x.value}, x.node->i1())}; }
inline Real clamp(Real x, double low, double high) { return minimum(maximum(x, low), high); }

inline Real where(Condition condition, Real yes, Real no) {
  return {yes.node, yes.node->where(condition.value, yes.value, no.value)};
}
inline Real where(Condition condition, double yes, Real no) { return where(condition, no.number(yes), no); }
inline Real where(Condition condition, Real yes, double no) { return where(condition, yes, yes.number(no)); }
inline Real where(Condition condition, double yes, double no) {
  Real of{condition.node, {}};
  return where(condition, of.number(yes), of.number(no));
}

/// Returns the value of a polynomial at `t`, by Horner's method. The coefficients start with that of the power 0.
inline Real horner(Real t, ArrayRef<double> coefficients) {
  Real value = t.number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    value = value * t + coefficient;
  return value;
}

/// Returns the value of a Chebyshev series at `t`, by Clenshaw's algorithm.
inline Real chebyshev(Real t, ArrayRef<double> coefficients) {
  Real ahead = t.number(coefficients.back()), next = t.number(0), twice = t * 2;
  for (double coefficient : llvm::reverse(coefficients.drop_front().drop_back())) {
    Real sum = twice * ahead - next + coefficient;
    next = ahead;
    ahead = sum;
  }
  return t * ahead - next + coefficients.front();
}

/// Returns an argument, a tensor or a number, in float64. Refuses the node if the argument is complex, or if the result
/// is not a floating-point tensor.
inline Real realOperand(Node &n, unsigned index, llvm::StringRef name) {
  if (n.isTensor(index, name))
    n.demand(Node::elementOf(n.tensor(index, name)).isIntOrFloat(), "its argument is complex");
  n.demand(isa<FloatType>(n.element()), "its result is not a floating-point tensor");
  Value value = n.failed() ? n.scalar(0, n.f64()) : n.operand(index, name, n.f64());
  return {&n, value};
}

/// Returns a value as the result of its node. Rounds it also if it is a 0-d tensor, which Node::cast keeps in float64.
inline Results rounded(Real x) { return x.node->convert(x.value, x.node->element()); }

/// Imports a function of one tensor, which schemas call `self` or `x`.
template <Real (*function)(Real)> Results special(Node &n) {
  Real x = realOperand(n, 0, n.find(0, "self") ? "self" : "x");
  if (n.failed())
    return n.refused();
  return rounded(function(x));
}

} // namespace tilewright

#endif
