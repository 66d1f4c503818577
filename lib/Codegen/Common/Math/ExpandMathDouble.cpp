//===- ExpandMathDouble.cpp - functions of f32 computed in f64 --------------------===//
//
// pow needs a logarithm that is accurate to 33 bits, and formulas such as log(x + sqrt(x^2 + 1)) suffer from
// cancellation. In f64, with polynomials that are accurate to 2^-34 or better, every result is correctly rounded unless
// it is close to a tie. f64 needs twice as many vectors as f32. Denormal f32 numbers are normal f64 numbers, and truncf
// produces the denormals and infinities of f32.
//
// Numbers in braces come from tools/dev/fit_polynomials.py.
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

constexpr double ln2 = 0.693147180559945309417, log2E = 1.44269504088896340736;
constexpr double pi = 3.14159265358979323846, halfPi = pi / 2;
/// If |x| is below this bound, x + O(x^3) rounds to x in f32, and the formulas would suffer from cancellation.
constexpr double tiny = 0x1p-13;

/// Returns 2^n e^r, where n is in the low bits of `shifted`.
Lanes scaledExp(Lanes shifted, Lanes r) {
  Lanes p = polynomial(r, {1.0000000000000129, 0.99999999999989442, 0.49999999999455952, 0.16666666667820401,
                           0.041666667033508235, 0.0083333330042879971, 0.0013888802663309396, 0.00019841594634931197,
                           2.4884089340577268e-05, 2.7482970156783653e-06});
  return p * shiftLeft(shifted.asInteger(), 52).asFloat();
}

Lanes exp64(Lanes x) {
  constexpr double shift = roundingShift64 + 1023;
  x = clamp(x, -700.0, 700.0);
  Lanes shifted = fma(x, log2E, shift);
  return scaledExp(shifted, fma(shifted - shift, -ln2, x));
}

Lanes exp2Of(Lanes x) {
  constexpr double shift = roundingShift64 + 1023;
  x = clamp(x, -1000.0, 1000.0);
  Lanes shifted = x + shift;
  return scaledExp(shifted, (x - (shifted - shift)) * ln2);
}

/// Returns log(x) for x that is not a denormal f64 number.
Lanes log64(Lanes x) {
  constexpr uint64_t rootHalfBits = 0x3fe6a09e667f3bcd;
  Lanes bits = x.asInteger(), offset = bits - bits.integer(rootHalfBits);
  Lanes e = (shiftRight(offset, 52) + bits.integer(0x4338000000000000)).asFloat() - roundingShift64;
  Lanes f = ((offset & 0x000fffffffffffff) + bits.integer(rootHalfBits)).asFloat() - 1.0;
  Lanes p = polynomial(f, {1.0000000000002711, -0.49999999998647249, 0.33333333307167246, -0.25000000393582206,
                           0.20000004332363849, -0.16666635734859231, 0.14285435292137796, -0.12500937535505463,
                           0.11119829895562393, -0.099900629009188557, 0.089515851719108572, -0.082918395652665455,
                           0.087422449881409195, -0.085617154838789025, 0.043793010911202288});
  return logWithSpecials(x, fma(e, ln2, f * p));
}

/// Returns atan(t) for t in [0, 1].
Lanes atanUnit(Lanes t) {
  return t *
         polynomial(t * t, {0.99999999994123556, -0.33333331571213282, 0.19999912051666638, -0.14283980766073395,
                            0.11093241330969587, -0.089802394848173761, 0.072457194985639434, -0.054279129848970757,
                            0.034209634575061425, -0.016111699272479778, 0.00485094108541288, -0.00068479371992411539});
}

Lanes atan2Of(Lanes y, Lanes x) {
  Lanes ay = abs(y), ax = abs(x), steep = greater(ay, ax);
  Lanes least = select(steep, ax, ay), most = select(steep, ay, ax);
  Lanes t = least / most;
  // the quotient is NaN if both are 0 or infinite
  t = select(equal(least, most), select(equal(most, 0.0), 0.0, x.number(1.0)), t);
  Lanes angle = atanUnit(t);
  angle = select(steep, halfPi - angle, angle);
  angle = select(less(copySign(x.number(1.0), x), 0.0), pi - angle, angle); // -0 is treated as negative
  return copySign(angle, y);
}

} // namespace

Lanes expandAtan(Lanes x) {
  Lanes a = abs(x.widened()), steep = greater(a, 1.0);
  Lanes angle = atanUnit(select(steep, 1.0 / a, a));
  return copySign(select(steep, halfPi - angle, angle).narrowed(), x);
}

Lanes expandAtan2(Lanes y, Lanes x) { return copySign(atan2Of(y.widened(), x.widened()).narrowed(), y); }

Lanes expandAsin(Lanes single) {
  Lanes x = single.widened();
  return atan2Of(x, sqrt((1.0 - x) * (x + 1.0))).narrowed();
}

Lanes expandAcos(Lanes single) {
  Lanes x = single.widened();
  return atan2Of(sqrt((1.0 - x) * (x + 1.0)), x).narrowed();
}

Lanes expandSinh(Lanes x) {
  Lanes a = abs(x.widened()), e = exp64(a);
  return copySign(select(less(a, tiny), a, (e - 1.0 / e) * 0.5).narrowed(), x);
}

Lanes expandCosh(Lanes x) {
  Lanes e = exp64(abs(x.widened()));
  return ((e + 1.0 / e) * 0.5).narrowed();
}

Lanes expandAsinh(Lanes x) {
  Lanes a = abs(x.widened());
  Lanes result = log64(a + sqrt(fma(a, a, 1.0)));
  return copySign(select(less(a, tiny), a, result).narrowed(), x);
}

Lanes expandAcosh(Lanes single) {
  Lanes x = single.widened();
  return select(less(x, 1.0), NAN, log64(x + sqrt(fma(x, x, -1.0)))).narrowed();
}

Lanes expandAtanh(Lanes x) {
  Lanes a = abs(x.widened());
  Lanes result = log64((a + 1.0) / (1.0 - a)) * 0.5;
  return copySign(select(less(a, tiny), a, result).narrowed(), x);
}

Lanes expandCbrt(Lanes x) { return copySign(exp2Of(log64(abs(x.widened())) * (log2E / 3)).narrowed(), x); }

// erfc(a) = exp(-a^2) p(t), t = (a - 2) / (a + 2); erfc(-a) = 2 - erfc(a).
Lanes expandErfc(Lanes single) {
  Lanes x = single.widened(), a = atMost(abs(x), 10.1);
  Lanes p =
      polynomial((a - 2.0) / (a + 2.0),
                 {0.25539567631064319, -0.42718584741545373, 0.24165819421569112, -0.078978580891569339,
                  0.0037328932869821838, 0.0069974590850642249, -0.00084715499524013371, -0.00098195395896513542,
                  4.3637757790384319e-05, 0.00017426850808821006, 2.7193290485369637e-05, -2.7431163547621106e-05,
                  -1.3187602859632135e-05, 1.4625704269938348e-06, 2.8004141198479011e-06, 6.7594297896415887e-07});
  Lanes result = exp64(-(a * a)) * p;
  return select(less(x, 0.0), 2.0 - result, result).narrowed();
}

// Computes |x|^y = 2^(y log2 |x|), then replaces the results for C's special cases. 1^y and x^0 are 1 even for NaN. If
// x is negative and finite and y is not an integer, the result is NaN. If x is negative and y is an odd integer, the
// result is negative.
Lanes expandPow(Lanes single, Lanes y) {
  Lanes x = single.widened(), a = abs(x);
  Lanes result = exp2Of(log64(a) * log2E * y);
  result = select(equal(a, 1.0), 1.0, result);
  Lanes isWhole = equal(roundToEven(y), y), half = y * 0.5;
  Lanes isOdd = select(isWhole, differs(roundToEven(half), half), isWhole);
  result = select(isOdd, copySign(result, x), result);
  Lanes isNegative = less(x, 0.0), isFinite = greater(x, -INFINITY);
  Lanes noRoot = isNegative & isFinite & differs(roundToEven(y), y);
  result = select(noRoot, NAN, result);
  result = select(equal(y, 0.0), 1.0, result);
  return select(equal(x, 1.0), 1.0, result).narrowed();
}

} // namespace tilewright::cpu
