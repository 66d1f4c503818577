//===- ExpandMathRemainder.cpp - the exact remainder of a division ----------------===//
//
// C's fmod is exact: x - trunc(x / y) y. The quotient may have hundreds of bits in f32, and about 2000 in f64. In f64,
// each step of this loop removes up to `bits` + 1 bits of the quotient:
//
//   r = |x|
//   while any lane has r >= |y|:
//     s = |y| 2^e, e = max(0, exponent of r - exponent of |y| - bits)
//     r -= trunc(r / s) s
//
// For f32, `bits` is 26. s has the 24 bits of y, and r is a multiple of the unit in the last place of x or of y, and
// is below 2^27 s. The difference of the exact quotient and the next integer is at least 2^-24. Therefore the computed
// quotient is not rounded up to this integer, and the product and the difference are exact.
//
// For f64, `bits` is 51. The quotient is below 2^52, and every integer in this range is representable. The rounded
// quotient may equal the next integer, but not exceed it, so the truncated quotient is correct or too large by one. As
// r >= s, r and r - q s are multiples of the last place of s. The difference r - q s is in [-s, s), so it is
// representable, and FMA computes it exactly. If the difference is negative, s is added, which is exact for the same
// reason. These facts require that |y| is a normal number. Otherwise libm is called.
//
// Most vectors need only one step.
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath64.h"
#include "lib/Codegen/Common/Math/LibmFallback.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cpu {

constexpr int bitsOfSingle = 26, bitsOfDouble = 51;

/// Executes one step of the loop above: returns r - trunc(r / s) s, where s is `divisor` times a power of two, so that
/// the quotient has at most `bits` + 1 bits.
static Lanes oneStep(Lanes r, Lanes divisor, int bits) {
  Lanes distance = shiftRight(r.asInteger(), 52) - shiftRight(divisor.asInteger(), 52);
  Lanes excess = distance - distance.integer(bits);
  excess = excess.make<arith::MaxSIOp>(excess.value, excess.integer(0).value);
  Lanes scaled = (divisor.asInteger() + shiftLeft(excess, 52)).asFloat();
  Lanes quotient = r / scaled;
  Lanes left = fma(-quotient.make<math::TruncOp>(quotient.value), scaled, r);
  return bits == bitsOfSingle ? left : select(less(left, 0.0), left + scaled, left);
}

/// Returns the remainder of magnitudes; NaN if y is below `least`, x is infinite, or one of them is NaN.
static Lanes remainderOf(Lanes x, Lanes y, double least, int bits) {
  ImplicitLocOpBuilder &builder = *x.builder;
  Lanes defined = less(x, INFINITY) & equal(atLeast(y, least), y);
  auto larger = [&](Lanes r) { return (less(r, y) ^ defined.integer(1)) & defined; };
  auto loop = scf::WhileOp::create(
      builder, TypeRange{x.type()}, ValueRange{x.value},
      [&](OpBuilder &inside, Location, ValueRange state) {
        builder.setInsertionPointToEnd(inside.getInsertionBlock());
        scf::ConditionOp::create(builder, anyLane(larger({&builder, state[0]})), state);
      },
      [&](OpBuilder &inside, Location, ValueRange state) {
        builder.setInsertionPointToEnd(inside.getInsertionBlock());
        Lanes r{&builder, state[0]};
        scf::YieldOp::create(builder, select(larger(r), oneStep(r, y, bits), r).value);
      });
  builder.setInsertionPointAfter(loop);
  Lanes r{&builder, loop.getResult(0)};
  return select(defined, r, NAN);
}

Lanes expandRemainder(Lanes x, Lanes y) {
  return copySign(remainderOf(abs(x.widened()), abs(y.widened()), 0x1p-149, bitsOfSingle).narrowed(), x);
}

namespace f64 {
Lanes remainder(Lanes x, Lanes y) {
  constexpr double least = 0x1p-1022;
  Lanes magnitude = abs(y), isDenormal = less(magnitude, least) & greater(magnitude, 0.0);
  Lanes fast = copySign(remainderOf(abs(x), magnitude, least, bitsOfDouble), x);
  return unlessAny<arith::RemFOp>(isDenormal, {x, y}, fast);
}
} // namespace f64

} // namespace tilewright::cpu
