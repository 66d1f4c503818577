//===- ExpandMathTrig.cpp - sin, cos, tan ------------------------------------------===//
//
//   x = n pi/2 + r, |r| <= pi/4: the last two bits of n select sin(r) or cos(r), and the sign
//
// r is computed in three steps with FMA. This is accurate enough for |x| below 1e5, because the three parts of pi/2
// have 72 bits, and the first step is exact: both of its operands are multiples of the last bit of the first part. If
// the magnitude of any lane is larger, the whole vector takes a branch that calls libm in f64 for each lane.
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath.h"
#include "lib/Codegen/Common/Math/LibmFallback.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

constexpr double fastLimit = 1e5, twoByPi = 0.636619772367581343076;
constexpr double rightAngle = 1.57079632679489661923, rightAngleRest = 6.12323399573676603587e-17;

/// Returns sin(x + quarters pi/2).
Lanes sine(Lanes x, int quarters) {
  constexpr float high = rightAngle, middle = rightAngle - high;
  constexpr double low = rightAngle - high - middle + rightAngleRest;
  double shift = roundingShift32 + quarters;
  Lanes shifted = fma(x, twoByPi, shift), n = shifted - shift;
  Lanes r = fma(n, -low, fma(n, -double(middle), fma(n, -double(high), x)));
  Lanes u = r * r;
  Lanes sin = fma(r * u, polynomial(u, {-0.166666552, 0.00833218917, -0.000195182874}), r);
  Lanes cos = polynomial(u, {1.0, -0.5, 0.0416666456, -0.00138873106, 2.44325656e-05});
  Lanes quadrant = shifted.asInteger();
  Lanes even = equal(quadrant & 1, quadrant.integer(0));
  Lanes magnitude = select(even, copySign(sin, r), cos); // the sum has lost the sign of r if r is -0
  return (magnitude.asInteger() ^ (shiftLeft(quadrant, 30) & 0x80000000)).asFloat();
}

} // namespace

Lanes expandSin(Lanes x) { return unlessLarge<math::SinOp>(x, fastLimit, sine(x, 0)); }
Lanes expandCos(Lanes x) { return unlessLarge<math::CosOp>(x, fastLimit, sine(x, 1)); }

// tan is computed in f64, where pi/2 in two parts is accurate enough.
Lanes expandTan(Lanes single) {
  Lanes x = single.widened();
  Lanes shifted = fma(x, twoByPi, roundingShift64), n = shifted - roundingShift64;
  Lanes r = fma(n, -rightAngleRest, fma(n, -rightAngle, x)), u = r * r;
  Lanes sin = r * polynomial(u, {0.99999999999999545, -0.16666666666614496, 0.0083333333235735066,
                                 -0.00019841263151821641, 2.7555243453630873e-06, -2.4754641275838324e-08});
  Lanes cos = polynomial(u, {0.99999999999993439, -0.49999999999270911, 0.041666666533637653, -0.0013888879931872591,
                             2.4798843790613954e-05, -2.7167950361670214e-07});
  Lanes quadrant = shifted.asInteger();
  Lanes even = equal(quadrant & 1, quadrant.integer(0));
  Lanes fast = select(even, sin, -cos) / select(even, cos, sin);
  return unlessLarge<math::TanOp>(single, fastLimit, fast.narrowed());
}

} // namespace tilewright::cpu
