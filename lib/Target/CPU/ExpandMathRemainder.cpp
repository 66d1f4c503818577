//===- ExpandMathRemainder.cpp - the remainder of a division, exactly -------------===//
//
// C's fmod of f32 has no error: x - trunc(x / y) y, where the quotient may have hundreds of bits. In f64 each step
// takes off up to 27 of them:
//
//   r = |x|
//   while any lane has r >= |y|:
//     s = |y| 2^e, e = max(0, exponent of r - exponent of |y| - 26)
//     r -= trunc(r / s) s
//
// s has the 24 bits of y, and r those of multiples of y's or x's last one, below 2^27 s: the quotient is told from the
// next integer by 2^-24 at least, so that it is not rounded up to it, and the product and the difference are exact.
// Most vectors need one step.
//
// Test: test/Target/CPU/expand-math.mlir, test/Unit/Math
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/ExpandMath.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu {

/// Whether a lane of `mask` is set.
static Value any(Lanes mask) {
  auto type = cast<VectorType>(mask.type());
  auto flat = VectorType::get({type.getNumElements()}, type.getElementType());
  Value lanes = type == flat ? mask.value : mask.make<vector::ShapeCastOp>(flat, mask.value).value;
  return mask.make<vector::ReductionOp>(vector::CombiningKind::OR, lanes).value;
}

/// `r` without as many multiples of `divisor` as one quotient holds.
static Lanes oneStep(Lanes r, Lanes divisor) {
  Lanes apart = shiftRight(r.asInteger(), 52) - shiftRight(divisor.asInteger(), 52);
  Lanes excess = apart - apart.integer(26);
  excess = excess.make<arith::MaxSIOp>(excess.value, excess.integer(0).value);
  Lanes scaled = (divisor.asInteger() + shiftLeft(excess, 52)).asFloat();
  Lanes quotient = r / scaled;
  return fma(-quotient.make<math::TruncOp>(quotient.value), scaled, r);
}

Lanes expandRemainder(Lanes single, Lanes divisor) {
  ImplicitLocOpBuilder &builder = *single.builder;
  Lanes x = abs(single.widened()), y = abs(divisor.widened());
  Lanes defined = greater(y, 0.0) & less(x, INFINITY);
  auto larger = [&](Lanes r) { return (less(r, y) ^ defined.integer(1)) & defined; };
  auto loop = scf::WhileOp::create(
      builder, TypeRange{x.type()}, ValueRange{x.value},
      [&](OpBuilder &inside, Location, ValueRange state) {
        builder.setInsertionPointToEnd(inside.getInsertionBlock());
        scf::ConditionOp::create(builder, any(larger({&builder, state[0]})), state);
      },
      [&](OpBuilder &inside, Location, ValueRange state) {
        builder.setInsertionPointToEnd(inside.getInsertionBlock());
        Lanes r{&builder, state[0]};
        scf::YieldOp::create(builder, select(larger(r), oneStep(r, y), r).value);
      });
  builder.setInsertionPointAfter(loop);
  Lanes r{&builder, loop.getResult(0)};
  return copySign(select(defined, r, NAN).narrowed(), single);
}

} // namespace tilewright::cpu
