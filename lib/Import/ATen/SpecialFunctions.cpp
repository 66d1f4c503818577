//===- SpecialFunctions.cpp - error functions, and functions of several ops --------------===//
//
// The functions erfcx, erfinv and ndtri are computed in float64 and rounded once. ndtr, ldexp, round to decimals and
// angle need few ops.
//
// Test: test/Python/ops/test_special_functions.py, test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/SpecialFunctions.h"
#include "lib/Import/ATen/SpecialSeries.h"
#include "lib/Import/ATen/Table.h"
#include <cmath>

namespace tilewright {
namespace {

using namespace constants;
constexpr double rootOfPi = 1.7724538509055160273;

/// Returns exp(x x) erfc(x).
Real erfcx(Real x) {
  Real a = abs(x);
  Real t = where(isinf(a), 1.0, (a - 3.75) / (a + 3.75));
  Real positive = chebyshev(t, series::erfcx) / (1 + 2 * a);
  return where(x < 0, 2 * exp(x * x) - positive, positive);
}

/// Returns the x with erfc(x) = z for z in (0, 1]: Winitzki's approximation, refined by three Halley steps.
Real inverseErfc(Real z) {
  Real logarithm = log(z) + log1p(1 - z);
  Real part = 2 / (pi * 0.147) + logarithm / 2;
  Real x = sqrt(sqrt(part * part - logarithm / 0.147) - part);
  for (int step = 0; step < 3; ++step) {
    // (erfc(x) - z) / erfc'(x). The factor exp(-x^2) of both terms is canceled, because it would underflow.
    Real wrong = (erfcx(x) - z * exp(x * x)) * (-rootOfPi / 2);
    x = x - wrong / (1 + x * wrong);
  }
  return x;
}

Real erfinv(Real y) {
  Real a = abs(y);
  Condition small = a < 0.5;
  Real x = inverseErfc(maximum(where(small, 0.5, 1 - a), 1e-300));
  // For a < 0.5, 1 - a is not exact. Therefore Halley's method is applied to erf(x) - a.
  Real near = a * (0.886226925452758 + 0.2320136665346546 * a * a);
  for (int step = 0; step < 4; ++step) {
    Real wrong = (erf(near) - a) * exp(near * near) * (rootOfPi / 2);
    near = near - wrong / (1 + near * wrong);
  }
  x = where(small, near, where(a == 1, infinity, x));
  return where(a <= 1, where(y < 0, -x, x), nan);
}

/// Returns the inverse of the normal distribution function.
Real ndtri(Real p) {
  Real half = minimum(p, 1 - p) * 2;
  Real x = inverseErfc(clamp(half, 1e-300, 1.0)) * std::numbers::sqrt2;
  x = where(half == 0, infinity, x);
  return where(p >= 0 & p <= 1, where(p < 0.5, -x, x), nan);
}

/// Imports special_ndtr(self), the normal distribution function. It is computed with erfc, because 1 + erf(x) rounds to
/// 0 for some negative x for which erfc(-x) is positive.
Results ndtr(Node &n) {
  Value x = n.tensor(0, "self");
  if (!n.demand(isa<FloatType>(n.element()) && n.elementOf(x).isIntOrFloat(), "its argument is complex"))
    return n.refused();
  Value wide = n.cast(n.cast(x, n.element()), n.accumulator(n.element()));
  return n.cast(n.op<MulOp>(n.op<ErfcOp>({n.op<MulOp>(wide, -0.7071067811865476)}), 0.5), n.element());
}

/// Imports round(self, decimals). As in eager, the power of 10 and the scaled number are rounded to the element type.
Results roundToDecimals(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t decimals = n.integer(1, "decimals", 0);
  if (n.failed() || !isa<FloatType>(n.element()))
    return x;
  if (decimals == 0)
    return n.op<RoundOp>({x});
  double ten = std::pow(10.0, std::abs(double(decimals)));
  return decimals > 0 ? n.op<DivOp>(n.op<RoundOp>({n.op<MulOp>(x, ten)}), ten)
                      : n.op<MulOp>(n.op<RoundOp>({n.op<DivOp>(x, ten)}), ten);
}

/// Imports ldexp(self, other), which is self * 2 ** other.
Results ldexp(Node &n) {
  Value x = n.tensor(0, "self"), exponent = n.tensor(1, "other");
  Type given = n.elementOf(x), type = n.elementOf(exponent);
  if (!n.demand(given.isIntOrFloat() && type.isIntOrFloat() && isa<FloatType>(n.element()), "an argument is complex"))
    return n.refused();
  if (isa<FloatType>(given) && !isa<FloatType>(type)) {
    // Eager calls C's ldexp, whose result may be finite although 2 ** other is infinite. Therefore x is multiplied by
    // two powers, each of about half the exponent.
    Real scaled = realOperand(n, 0, "self"), whole = realOperand(n, 1, "other"), half = floor(whole * 0.5);
    return rounded(scaled * exp2(half) * exp2(whole - half));
  }
  // Eager rounds the power to the exponent's type, or to float32 if the exponent is an integer.
  Type rounding = isa<FloatType>(type) ? type : n.f32(), compute = n.accumulator(n.element());
  Value power = n.op<PowOp>({n.scalar(2, rounding), n.cast(exponent, rounding)});
  return n.cast(n.op<MulOp>({n.cast(x, compute), n.cast(power, compute)}), n.element());
}

/// Imports angle(self) of real numbers, which is pi for negative numbers, NaN for NaN, and 0 for other numbers.
Results angle(Node &n) {
  Value x = n.tensor(0, "self");
  if (!n.demand(isa<FloatType>(n.element()) && n.elementOf(x).isIntOrFloat(), "its argument is complex"))
    return n.refused();
  x = n.cast(x, n.element());
  Value zero = n.scalar(0, n.element());
  Value side = n.where(n.compare<LtOp>(x, zero), n.scalar(pi, n.element()), zero);
  return n.where(n.op<IsnanOp>({x}, n.i1()), x, side);
}

} // namespace

void registerSpecialFunctions(Table &t) {
  t["aten.special_erfcx.default"] = special<erfcx>;
  t["aten.erfinv.default"] = special<erfinv>;
  t["aten.special_ndtri.default"] = special<ndtri>;
  t["aten.special_ndtr.default"] = ndtr;
  t["aten.round.decimals"] = roundToDecimals;
  t["aten.ldexp.Tensor"] = ldexp;
  t["aten.angle.default"] = angle;
}

} // namespace tilewright
