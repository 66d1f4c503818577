//===- ExpandMath64Angles.cpp - trigonometric and inverse functions of f64 --------===//
//
//   atan(least / most) = pi/4 + atan((least - most) / (least + most))   if the quotient is above 1/2
//   asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2))                          if x is above 1/2
//   sin(x), x = n pi/2 + r, |r| <= pi/4: the last two bits of n select sin(r) or cos(r), and the sign
//
// pi/4 and pi/2 are sums of two or three constants. If the magnitude of an angle is above 1e9 in any lane, libm is
// called for each lane. Coefficients in braces come from tools/dev/fit_polynomials.py (NAME_53).
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath64.h"
#include "lib/Codegen/Common/Math/LibmFallback.h"

using namespace mlir;

namespace tilewright::cpu::f64 {
namespace {

constexpr double halfPi = 0x1.921fb54442d18p+0, halfPiMiddle = 0x1.1a62633145c07p-54,
                 halfPiLow = -0x1.f1976b7ed8fbcp-110;
constexpr double quarterPi = halfPi / 2, quarterPiLow = halfPiMiddle / 2;
constexpr double twoByPi = 0.636619772367581343076;
constexpr double fastLimit = 1e9;

/// Returns `quarters` * pi/4 + `rest`.
Lanes angleOf(Lanes quarters, Lanes rest) { return fma(quarters, quarterPi, fma(quarters, quarterPiLow, rest)); }

/// Returns the angle of a point: atan(least / most), reflected where `steep` and `negative` are true. If `least` and
/// `most` are equal, the quotient is 1, or 0 if they are 0.
Lanes angleOf(Lanes least, Lanes most, Lanes steep, std::optional<Lanes> negative) {
  Lanes same = equal(least, most); // the quotient would be NaN if both are 0 or infinite
  Lanes wide = select(same, greater(most, 0.0), greater(least, most * 0.5));
  Lanes t = select(wide, least - most, least) / select(wide, least + most, most);
  t = select(same, 0.0, t);
  Lanes u = t * t;
  Lanes p = polynomial(u, {-0.33333333333333331, 0.19999999999999968, -0.14285714285706202, 0.11111111110278944,
                           -0.090909090460735739, 0.076923062405621634, -0.066666360878229941, 0.058819133284980757,
                           -0.052587189041298311, 0.047299538335771399, -0.041833386133475259, 0.033986343380485201,
                           -0.02168223488130968, 0.0076562953149701216});
  Lanes rest = fma(t * u, p, t), quarters = select(wide, t.number(1.0), 0.0);
  quarters = select(steep, 2.0 - quarters, quarters);
  rest = select(steep, -rest, rest);
  if (negative) {
    quarters = select(*negative, 4.0 - quarters, quarters);
    rest = select(*negative, -rest, rest);
  }
  return angleOf(quarters, rest);
}

struct HalfArc {
  Lanes beyond;     ///< |x| > 1/2
  Lanes high, rest; ///< their sum is asin(|x|), or acos(|x|) if `beyond`
};

HalfArc halfArcOf(Lanes x) {
  Lanes a = abs(x), beyond = greater(a, 0.5);
  Lanes z = select(beyond, (1.0 - a) * 0.5, a * a);
  Lanes s = select(beyond, sqrt(z), a);
  Lanes p = polynomial(z, {0.16666666666666669, 0.074999999999984329, 0.044642857146355429, 0.030381944138531201,
                           0.022372172942151349, 0.017352392720840923, 0.013971212973930064, 0.011479177411895745,
                           0.010322814369605943, 0.005457506642064085, 0.01740087963582327, -0.014851887352956897,
                           0.028757851548184377});
  Lanes twice = select(beyond, x.number(2.0), 1.0);
  return {beyond, s * twice, s * z * p * twice};
}

struct ReducedAngle {
  Lanes quadrant; ///< the last two bits are the quadrant
  Lanes sin, cos; ///< sine and cosine of the reduced argument
};

ReducedAngle reducedAngle(Lanes x, int quarters) {
  double shift = roundingShift64 + quarters;
  Lanes shifted = fma(x, twoByPi, shift), n = shifted - shift;
  Lanes far = fma(n, -halfPi, x); // exact
  Lanes step = n * halfPiMiddle, r = far - step, u = r * r;
  // The error of r has three parts: the rounding errors of the subtraction and of the product, and the error of pi/2.
  Lanes rest = fma(n, -halfPiLow, ((far - r) - step) - fma(n, halfPiMiddle, -step));
  Lanes near = fma(u, -0.5, 1.0), lost = fma(u, -0.5, 1.0 - near);
  Lanes sin = r + fma(rest, near,
                      r * u *
                          polynomial(u, {-0.16666666666666666, 0.0083333333333309462, -0.00019841269836756196,
                                         2.7557316101318701e-06, -2.5051131587891247e-08, 1.5918110772201655e-10}));
  Lanes cos = near + fma(u * u,
                         polynomial(u, {0.041666666666666664, -0.0013888888888887395, 2.4801587298764198e-05,
                                        -2.7557317270957987e-07, 2.0876146107557061e-09, -1.1382620837903734e-11}),
                         fma(-r, rest, lost));
  return {shifted.asInteger(), copySign(sin, r), cos}; // the sum has lost the sign of r if r is -0
}

Lanes sine(Lanes x, int quarters) {
  ReducedAngle reduced = reducedAngle(x, quarters);
  Lanes quadrant = reduced.quadrant, even = equal(quadrant & 1, quadrant.integer(0));
  Lanes magnitude = select(even, reduced.sin, reduced.cos);
  return (magnitude.asInteger() ^ (shiftLeft(quadrant, 62) & (uint64_t(1) << 63))).asFloat();
}

} // namespace

Lanes atan(Lanes x) {
  Lanes a = abs(x), steep = greater(a, 1.0), one = x.number(1.0);
  return copySign(angleOf(select(steep, one, a), select(steep, a, one), steep, std::nullopt), x);
}

// Large coordinates are scaled down, so that their sum does not overflow.
Lanes atan2(Lanes y, Lanes x) {
  Lanes ay = abs(y), ax = abs(x), steep = greater(ay, ax);
  Lanes least = select(steep, ax, ay), most = select(steep, ay, ax);
  Lanes scale = select(greater(most, 0x1p1000), most.number(0x1p-60), 1.0);
  Lanes negative = less(copySign(x.number(1.0), x), 0.0); // -0 is treated as negative
  Lanes angle = copySign(angleOf(least * scale, most * scale, steep, negative), y);
  return select(equal(x, x), select(equal(y, y), angle, y), x);
}

// For |x| > 1/2, the result is pi/2 minus the arc. To avoid rounding, the low parts of pi/2 and of the arc, and the
// rounding error of the subtraction, are added last.
Lanes asin(Lanes x) {
  auto [beyond, high, rest] = halfArcOf(x);
  Lanes left = halfPi - high, lost = (halfPi - left) - high;
  Lanes outside = left + (lost + (halfPiMiddle - rest));
  return copySign(select(beyond, outside, high + rest), x);
}

Lanes acos(Lanes x) {
  auto [beyond, high, rest] = halfArcOf(x);
  Lanes arc = high + rest, negative = less(x, 0.0);
  Lanes inside = angleOf(x.number(2.0), select(negative, arc, -arc));
  return select(beyond, select(negative, angleOf(x.number(4.0), -arc), arc), inside);
}

Lanes sin(Lanes x) { return unlessLarge<math::SinOp>(x, fastLimit, sine(x, 0)); }
Lanes cos(Lanes x) { return unlessLarge<math::CosOp>(x, fastLimit, sine(x, 1)); }

Lanes tan(Lanes x) {
  ReducedAngle reduced = reducedAngle(x, 0);
  Lanes even = equal(reduced.quadrant & 1, reduced.quadrant.integer(0));
  Lanes fast = select(even, reduced.sin, -reduced.cos) / select(even, reduced.cos, reduced.sin);
  return unlessLarge<math::TanOp>(x, fastLimit, fast);
}

} // namespace tilewright::cpu::f64
