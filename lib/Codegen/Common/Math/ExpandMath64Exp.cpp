//===- ExpandMath64Exp.cpp - exponentials, tanh, erf of f64 -----------------------===//
//
//   exp(x) = 2^n e^r, n = round(x / ln 2), r = x - n ln 2 in two steps, the first of them exact
//
// sinh and tanh are computed from expm1, whose relative precision is high near 0. Near 0, erf(x) is x + x p(x^2).
// Otherwise it is 1 - exp(-x^2) p(t) with t = (x - 3) / (x + 3). erfc(x) is exp(-x^2) p(t) / (1 + 2x). Coefficients in
// braces come from tools/dev/fit_polynomials.py (the fits whose names end in _53).
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath64.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu::f64 {
namespace {

constexpr double log2E = 1.44269504088896340736;

/// If the bits of the sum of n and this constant are shifted left by 52, the result has the bits of 2^n.
constexpr double shift = roundingShift64 + 1023;
Lanes powerOfTwo(Lanes shifted) { return shiftLeft(shifted.asInteger(), 52).asFloat(); }

constexpr int64_t wide = 8; ///< lanes of vscalefpd

/// Returns p 2^n if `keep` is true, else 0, where p is between 2^-7 and 2, and n is an integer with |n| <= 1100. With
/// AVX-512, uses vscalefpd for vectors of 8 or 16 lanes. Otherwise multiplies by two powers of two. The first product
/// is a normal number, so a denormal result is rounded only once.
Lanes scaled(Lanes p, Lanes n, Lanes keep, bool avx512) {
  auto type = dyn_cast<VectorType>(p.type());
  if (avx512 && type && type.getRank() == 1 && type.getDimSize(0) == wide)
    return {p.builder, scaleByInstruction(*p.builder, p.value, n.value, keep.value)};
  if (avx512 && type && type.getRank() == 1 && type.getDimSize(0) == 2 * wide) {
    ImplicitLocOpBuilder &b = *p.builder;
    auto lanesFrom = [&](int64_t first, int64_t count, Value low, Value high) -> Value {
      return vector::ShuffleOp::create(b, low, high, llvm::to_vector(llvm::seq(first, first + count)));
    };
    auto half = [&](int64_t first) {
      auto of = [&](Lanes x) { return lanesFrom(first, wide, x.value, x.value); };
      return scaleByInstruction(b, of(p), of(n), of(keep));
    };
    Value low = half(0);
    return {p.builder, lanesFrom(0, 2 * wide, low, half(wide))};
  }
  Lanes half = fma(n, 0.5, shift), rest = (n - (half - shift)) + shift;
  return select(keep, p * powerOfTwo(half) * powerOfTwo(rest), 0.0);
}

Lanes reduceByLn2(Lanes x, Lanes n) { return fma(n, -ln2Low, fma(n, -ln2High, x)); }

/// Returns e^r for |r| <= ln 2 / 2.
Lanes expUnit(Lanes r) {
  return polynomial(r, {1.0, 1.0, 0.50000000000000011, 0.16666666666666669, 0.041666666666624087, 0.0083333333333300581,
                        0.0013888888917234206, 0.00019841269863069374, 2.4801521264122017e-05, 2.7557268435517562e-06,
                        2.7620103584886963e-07, 2.5100397137931663e-08});
}

/// Returns true if x is at least `bound`, or NaN. The exact result of the other lanes rounds to 0, so the caller sets
/// their result to 0. scaled() does not support their exponent.
Lanes notBelow(Lanes x, double bound) {
  return x.make<arith::CmpFOp>(arith::CmpFPredicate::UGE, x.value, x.number(bound).value);
}

/// Returns (e^x - 1) / 4, which is finite if e^x / 2 is finite. For x below -40, the result is -0.25. For |x| < 1/2, n
/// is 0, which limits the cancellation in 2^n e^r - 1.
Lanes quarterExpM1(Lanes x) {
  x = clamp(x, -40.0, 710.5);
  constexpr double quarter = shift - 2;
  Lanes shifted = select(less(abs(x), 0.5), quarter, fma(x, log2E, quarter)), scale = powerOfTwo(shifted);
  Lanes r = reduceByLn2(x, shifted - quarter);
  Lanes p =
      polynomial(r, {0.5, 0.16666666666666666, 0.04166666666666706, 0.0083333333333333592, 0.0013888888888704549,
                     0.00019841269841146993, 2.4801587616145414e-05, 2.7557319433620241e-06, 2.7557076636642725e-07,
                     2.5051946709721622e-08, 2.0962955815976076e-09, 1.6116496514371548e-10});
  return fma(scale, fma(r * r, p, r), scale - 0.25);
}

/// Below this bound, x + O(x^2) rounds to x.
constexpr double tiny = 0x1p-54;

/// Returns exp(-s) for s in [0, 36].
Lanes expOfSquare(Lanes s) {
  Lanes shifted = fma(s, -log2E, shift);
  return expUnit(reduceByLn2(-s, shifted - shift)) * powerOfTwo(shifted);
}

/// Returns erf(a) for |a| <= 1.
Lanes erfNearZero(Lanes a) {
  Lanes u = a * a;
  return fma(
      a,
      polynomial(u, {0.12837916709551256, -0.37612638903183543, 0.11283791670945006, -0.02686617064323777,
                     0.0052239776071164225, -0.00085483259753896766, 0.00012055294904839317, -1.4924736907412967e-05,
                     1.6447424703242633e-06, -1.6208483801347776e-07, 1.372006454468374e-08, -7.7958988233633036e-10}),
      a);
}

} // namespace

Lanes exp(Lanes x, bool avx512) {
  Lanes keep = notBelow(x, -746.0);
  x = atMost(x, 710.0);
  if (!avx512)
    x = select(keep, x, 0.0);
  Lanes n = roundToEven(x * log2E);
  return scaled(expUnit(reduceByLn2(x, n)), n, keep, avx512);
}

Lanes exp2(Lanes x, bool avx512) {
  Lanes keep = notBelow(x, -1076.0);
  x = atMost(x, 1025.0);
  if (!avx512)
    x = select(keep, x, 0.0);
  Lanes n = roundToEven(x);
  Lanes p = polynomial(x - n, {1.0, 0.69314718055994529, 0.24022650695910072, 0.055504108664821625,
                               0.0096181291076284803, 0.0013333558146406471, 0.00015403530393370734,
                               1.5252733841556773e-05, 1.3215486808705563e-06, 1.0178057087733941e-07,
                               7.0548973041554995e-09, 4.4558179083360645e-10, 2.5729324177362305e-11});
  return scaled(p, n, keep, avx512);
}

Lanes expM1(Lanes x) {
  Lanes half = quarterExpM1(x) * 2.0;
  return select(less(abs(x), tiny), x, half + half);
}

// Let a = |x| and m = e^a - 1. The magnitude of the result is (m + m / (m + 1)) / 2. If a < 1, both summands have an
// error, so the magnitude is computed as m - m^2 / (2 (m + 1)). m / 4 is always finite. If m is infinite, the quotient
// is 0.
Lanes sinh(Lanes x) {
  Lanes a = abs(x), quarter = quarterExpM1(a), quotient = quarter / fma(quarter, 4.0, 1.0), half = quarter * 2.0;
  Lanes small = fma(-(half + half), quotient * 2.0, half + half), large = fma(quotient, 2.0, half);
  return copySign(select(less(a, tiny), a, select(less(a, 1.0), small, large)), x);
}

Lanes cosh(Lanes x, bool avx512) {
  Lanes a = atMost(abs(x), 711.0), n = roundToEven(a * log2E);
  Lanes half = scaled(expUnit(reduceByLn2(a, n)), n - 1.0, equal(n, n), avx512);
  half = select(equal(x, x), half, x);
  return half + 0.25 / half;
}

// Let a = |x| and h = (e^2a - 1) / 2. The magnitude of the result is h / (h + 1), which for small h is computed as
// h - h^2 / (h + 1). For a above 22, the magnitude is 1.
Lanes tanh(Lanes x) {
  Lanes a = abs(x), half = quarterExpM1(atMost(a, 22.0) * 2.0) * 2.0, quotient = half / (half + 1.0);
  Lanes near = select(less(a, 0.375), fma(-half, quotient, half), quotient);
  return copySign(select(less(a, tiny), a, near), x);
}

Lanes erf(Lanes x) {
  Lanes a = abs(x), small = erfNearZero(a);
  Lanes most = atMost(a, 6.0);
  Lanes p =
      polynomial((most - 3.0) / (most + 3.0),
                 {0.17900115118138996, -0.32623356004303722, 0.24560380171233487, -0.15011593650077898,
                  0.071665837197473076, -0.024392499318915004, 0.0042691363569612251, 0.00070774646669414252,
                  -0.00059706249649245445, 4.5254345589910087e-05, 6.4062792260460386e-05, -1.2845780030775907e-05,
                  -8.00978093907608e-06, 2.0135111426447427e-06, 1.275581894962448e-06, 3.3813551420429345e-09});
  Lanes large = fma(-expOfSquare(most * most), p, 1.0);
  return copySign(select(less(a, 1.0), small, large), x);
}

// For small x, the result is 1 - erf(x). For other x, x^2 is computed with 106 bits, because where erfc is small, a
// relative error of 2^-53 in x^2 is many ULP of the result.
Lanes erfc(Lanes x, bool avx512) {
  Lanes a = atMost(abs(x), 27.3), s = a * a, low = fma(a, a, -s);
  Lanes p =
      polynomial((a - 3.0) / (a + 3.0),
                 {1.2530080582697296,     -0.13562110612458117,    -0.047562294353450746,   0.12964515870276028,
                  -0.11927366341530801,   0.06830802734401939,     -0.023770514918653673,   0.0025293918148705245,
                  0.0018886903583060484,  -0.00077983225582156375, -0.00010515977838050663, 0.00012509922698657238,
                  4.9492816730570444e-06, -2.0099971856187698e-05, -7.3048306387103512e-07, 3.4705918754242772e-06,
                  3.5376131116413074e-07, -6.1304284267144172e-07, -1.3597617254568307e-07, 9.7391150989502688e-08,
                  3.5675467956360555e-08, -1.0144602684728893e-08, -4.8673317112099919e-09});
  Lanes n = roundToEven(s * -log2E);
  Lanes r = reduceByLn2(-s, n) - low;
  Lanes result = scaled(expUnit(r) * p / fma(a, 2.0, 1.0), n, equal(n, n), avx512);
  result = select(equal(x, x), result, x);
  result = select(less(x, 0.0), 2.0 - result, result);
  return select(less(abs(x), 0.46875), 1.0 - erfNearZero(x), result);
}

} // namespace tilewright::cpu::f64
