//===- ExpandMathExp.cpp - exponentials, tanh, erf ------------------------------===//
//
//   exp(x) = 2^n e^r, n = round(x / ln 2), r = x - n ln 2 in two steps
//
// tools/dev/fit_polynomials.py computes the coefficients of the polynomials. Its names for them begin with the name of
// the function, for example exp_wide and tanh_small. Inputs are clamped first, so that the integer arithmetic on their
// bits does not overflow.
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

constexpr double expLog2E = 1.44269504088896340736;
constexpr double ln2High = 0x1.62e430p-1, ln2Low = -0x1.05c610p-29; // ln2High + ln2Low: an error of less than 2^-53

/// Returns x 2^n by vscalefps if `keep` is true, else 0. n is a float, which need not be converted to an integer, and
/// the result is correct for every n. Returns std::nullopt if there is no instruction for this vector length.
std::optional<Lanes> scaleSingle(Lanes x, Lanes n, Lanes keep) {
  auto type = dyn_cast<VectorType>(x.type());
  if (!type || type.getRank() != 1 || type.isScalable() || type.getDimSize(0) != 16)
    return std::nullopt;
  return Lanes{x.builder, scaleByInstruction(*x.builder, x.value, n.value, keep.value)};
}

Lanes reduceByLn2(Lanes x, Lanes n) { return fma(n, -ln2Low, fma(n, -ln2High, x)); }

/// Returns a / b by vrcp14ps and a Newton step if the target has this instruction. `b` must not be close to 0 or
/// infinity. LLVM emits vrcp14ps only if both fast-math flags are set.
Lanes quickDivide(Lanes a, Lanes b) {
  return a.make<arith::DivFOp>(a.value, b.value, arith::FastMathFlags::arcp | arith::FastMathFlags::ninf);
}

} // namespace

Value scaleByInstruction(ImplicitLocOpBuilder &b, Value x, Value n, Value keep) {
  auto type = cast<VectorType>(x.getType());
  const bool single = type.getElementType().isF32();
  Value mask = vector::BitCastOp::create(b, VectorType::get({1}, b.getIntegerType(unsigned(type.getDimSize(0)))), keep);
  mask = vector::ExtractOp::create(b, mask, 0);
  Value zero = arith::ConstantOp::create(b, b.getLoc(), b.getZeroAttr(type));
  Value current = LLVM::ConstantOp::create(b, b.getLoc(), b.getI32Type(), b.getI32IntegerAttr(4)); // MXCSR's rounding
  StringRef name = single ? "llvm.x86.avx512.mask.scalef.ps.512" : "llvm.x86.avx512.mask.scalef.pd.512";
  return LLVM::CallIntrinsicOp::create(b, b.getLoc(), type, b.getStringAttr(name),
                                       ValueRange{x, n, zero, mask, current})
      .getResult(0);
}

// With vscalefps, 13 instructions compute the bounds, n, r, a polynomial of degree 6 and the scaling. Without
// vscalefps, n is even: one shift of the bits of n/2 results in 2^(n/2), by which the result is multiplied twice. The
// first product is a normal number, so a denormal result is rounded only once. |r| is then up to ln 2, which requires a
// polynomial of degree 8.
//
// Below -104 the result is set to 0 by a select or a mask, because instructions whose result underflows are slow on
// Intel's cores (microcode assists), and masked attention scores are in this range.
Lanes expandExp(Lanes x, bool avx512, bool shortened) {
  constexpr double vanishes = -104.0;
  Lanes keep = x.make<arith::CmpFOp>(arith::CmpFPredicate::UGE, x.value, x.number(vanishes).value);
  x = atMost(x, 89.0);
  if (avx512) {
    Lanes n = roundToEven(x * expLog2E);
    Lanes r = reduceByLn2(x, n);
    Lanes p = shortened ? polynomial(r, {1.0, 1.0, 0.5000512, 0.167535529, 0.0412776321})
                        : polynomial(r, {1.0, 1.0, 0.49999994, 0.166665211, 0.0416682623, 0.0083686728, 0.00138210121});
    if (std::optional<Lanes> scaled = scaleSingle(p, n, keep))
      return *scaled;
  }
  x = select(keep, x, 0.0);
  constexpr double shift = roundingShift32 + 127;
  Lanes shifted = fma(x, expLog2E / 2, shift);
  Lanes scale = shiftLeft(shifted.asInteger(), 23).asFloat();
  Lanes half = shifted - shift;
  Lanes r = fma(half, -2 * ln2Low, fma(half, -2 * ln2High, x));
  Lanes p = polynomial(
      r, {1.0, 1.0, 0.5, 0.166666716, 0.0416666046, 0.00833265577, 0.0013891994, 0.000200924973, 2.45461761e-05});
  return select(keep, p * scale * scale, 0.0);
}

// A division by vdivps takes about as long as the whole exponential function, so quickDivide() is used. If d is so
// large that its reciprocal would be denormal, the result is 0.
Lanes expandLogistic(Lanes a, Lanes d) {
  constexpr double limit = 0x1p125;
  return select(greater(d, limit), a * 0.0, quickDivide(a, atMost(d, limit)));
}

// The result is 2^n 2^f with n = round(x). The difference f = x - n is exact. As in expandExp(), the result of lanes
// below -151 is set to 0 by a select or a mask. With vscalefps, 11 instructions compute the bounds, n, f, a polynomial
// of degree 6 and the scaling. Without vscalefps, n is even, as in expandExp().
Lanes expandExp2(Lanes x, bool avx512, bool shortened) {
  Lanes keep = x.make<arith::CmpFOp>(arith::CmpFPredicate::UGE, x.value, x.number(-151.0).value);
  x = atMost(x, 129.0);
  if (avx512) {
    Lanes n = roundToEven(x);
    Lanes f = x - n;
    Lanes p = shortened ? polynomial(f, {1.0, 0.693124175, 0.240240917, 0.0559064932, 0.00958313607})
                        : polynomial(f, {1.0, 0.693147182, 0.240226477, 0.0555035993, 0.00961850584, 0.00133908063,
                                         0.000153264627});
    if (std::optional<Lanes> scaled = scaleSingle(p, n, keep))
      return *scaled;
  }
  x = select(keep, x, 0.0);
  constexpr double shift = roundingShift32 + 127;
  Lanes shifted = fma(x, 0.5, shift);
  Lanes scale = shiftLeft(shifted.asInteger(), 23).asFloat();
  Lanes f = fma(shifted - shift, -2.0, x);
  Lanes p = polynomial(f, {1.0, 0.693147182, 0.240226507, 0.0555041134, 0.00961811282, 0.00133326871, 0.000154074572,
                           1.54342488e-05, 1.30473779e-06});
  return select(keep, p * scale * scale, 0.0);
}

// The result is 2^n q + 2^n - 1, where q = e^r - 1. Each term is computed divided by 2, and the sum is doubled,
// because 2^127 is representable in f32, but 2^128 is not. For x below -18, the result is -1.
Lanes expandExpM1(Lanes x) {
  Lanes bounded = clamp(x, -18.0, 89.0);
  constexpr double shift = roundingShift32 + 126;
  Lanes shifted = fma(bounded, expLog2E, shift);
  Lanes halfScale = shiftLeft(shifted.asInteger(), 23).asFloat();
  Lanes r = reduceByLn2(bounded, shifted - shift);
  Lanes p = polynomial(r, {0.49999997, 0.166665465, 0.041667439, 0.00836625602, 0.00138703175});
  Lanes q = fma(r * r, p, r);
  Lanes half = fma(halfScale, q, halfScale - 0.5);
  return copySign(half + half, x); // the sum is +0 for -0
}

// Let a = |x|. Near 0, the result is x + x^3 p(x^2). For a above 0.6, it is 1 - 2 / (e^2a + 1), which reduces the
// effect of the error of e^2a. In this formula, the argument reduction is applied to a, so 2a is never computed, and
// the coefficients of the polynomial of e^2a include powers of two. For a of at least 9.02, the result is 1. Both
// formulas are computed, and one of the results is selected. (A rational function of x needs two thirds of the
// instructions, but has an error of 5 ULP, and exceeds 1.)
Lanes expandTanh(Lanes x) {
  Lanes a = abs(x), u = x * x;
  Lanes p = polynomial(u, {-0.333332986, 0.133319363, -0.0537847169, 0.0207986254, -0.00589796668});
  Lanes small = fma(a * u, p, a);
  constexpr double shift = roundingShift32 + 127;
  Lanes bounded = atMost(a, 9.02), shifted = fma(bounded, 2 * expLog2E, shift);
  Lanes scale = shiftLeft(shifted.asInteger(), 23).asFloat();
  Lanes r = fma(shifted - shift, -0.5 * (ln2High + ln2Low), bounded);
  Lanes exp = polynomial(
      r, {1.0, 2.0, 4 * 0.49999994, 8 * 0.166665211, 16 * 0.0416682623, 32 * 0.0083686728, 64 * 0.00138210121});
  Lanes large = 1.0 - quickDivide(x.number(2.0), fma(exp, scale, 1.0));
  return copySign(select(less(a, 0.6), small, large), x);
}

// Near 0, the result is x + x p(x^2), whose error is relative to x. For |x| above 1.1, it is 1 - q(|x|)^4, because the
// fourth root of erfc is nearly linear. Both formulas are computed, and one of the results is selected. For |x| of at
// least 4, the result is exactly 1, so that 1 + erf(-x) is 0.
Lanes expandErf(Lanes x) {
  Lanes a = abs(x), u = x * x;
  Lanes small = fma(a,
                    polynomial(u, {0.128379166, -0.376126111, 0.112833641, -0.026843518, 0.00516773108, -0.000782473944,
                                   7.23606863e-05}),
                    a);
  Lanes root = polynomial(atMost(a, 4.0), {1.00514221, -0.307363093, -0.0658144429, -0.0482952893, 0.0649478361,
                                           -0.021842625, 0.00317052519, -0.000174911489});
  Lanes square = root * root;
  return copySign(select(less(a, 1.1), small, fma(-square, square, 1.0)), x);
}

} // namespace tilewright::cpu
