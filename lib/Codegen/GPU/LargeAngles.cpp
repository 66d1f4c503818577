//===- LargeAngles.cpp - sine, cosine and tangent of large angles -------------------------===//
//
// The operand is x = m 2^e with a 24-bit integer m. To compute x 2/pi modulo 4, only 96 bits of 2/pi are needed,
// starting with bit e - 1 after the binary point. The bits before them contribute multiples of 4, and the bits after
// them are negligible.
//
// m is shifted to the top of a word and multiplied by 192 bits of 2/pi. This product is exact. Its seven words are
// shifted left by the exponent of x minus 1. The first two bits are then the quadrant, and the next 62 bits are the
// position of x in the quadrant, a fraction. If it is at least 1/2, 1 is subtracted from the fraction and added to the
// quadrant. The fraction times pi/2 is r, |r| <= pi/4, which is the argument of the series of sine and cosine in f64.
//
// Test: test/Python/test_cuda.py (test_sin_cos_and_tan_of_large_angles_match_eager)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/LargeAngles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The leading 192 bits of 2/pi. The least significant word is first.
constexpr uint32_t twoByPi[] = {0x3c439041, 0xdb629599, 0xf534ddc0, 0xfc2757d1, 0x4e441529, 0xa2f9836e};

class Angle {
public:
  explicit Angle(Operation *op) : b(op->getLoc(), op), x(op->getOperand(0).getDefiningOp<arith::ExtFOp>().getIn()) {}

  /// Returns the value that replaces the result of `op`.
  Value run(Operation *op) {
    reduce();
    Value u = mul(r, r);
    // Taylor series whose first omitted term is below 1e-10 for |r| <= pi/4.
    Value sine = mul(r, series(u, {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800}));
    Value cosine = series(u, {1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600});
    if (isa<math::TanOp>(op)) {
      Value odd = isOdd(quadrant);
      Value above = select(odd, arith::NegFOp::create(b, cosine), sine), below = select(odd, sine, cosine);
      return notANumber(arith::DivFOp::create(b, above, below));
    }
    // cos(x) is sin(x + pi/2).
    Value turns = isa<math::CosOp>(op) ? arith::AddIOp::create(b, quadrant, word(1)).getResult() : quadrant;
    Value value = select(isOdd(turns), cosine, sine);
    Value half = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, turns, word(2)), word(0));
    return notANumber(select(half, arith::NegFOp::create(b, value), value));
  }

private:
  Value word(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }
  Value number(double value) { return arith::ConstantOp::create(b, b.getF64FloatAttr(value)); }
  Value mul(Value a, Value c) { return arith::MulFOp::create(b, a, c); }
  Value select(Value condition, Value yes, Value no) { return arith::SelectOp::create(b, condition, yes, no); }
  Value isOdd(Value value) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, value, word(1)), word(0));
  }
  Value series(Value u, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double next : llvm::reverse(coefficients.drop_back()))
      sum = math::FmaOp::create(b, sum, u, number(next));
    return sum;
  }
  /// Returns NaN if x is infinite or NaN, else `value`, by adding x - x to `value`.
  Value notANumber(Value value) {
    Value none = arith::SubFOp::create(b, x, x);
    return arith::AddFOp::create(b, value, arith::ExtFOp::create(b, b.getF64Type(), none));
  }

  void reduce() {
    Value bits = arith::ExtUIOp::create(b, b.getI64Type(), arith::BitcastOp::create(b, b.getI32Type(), x));
    Value low32 = word(0xffffffff);
    Value mantissa = arith::AndIOp::create(
        b, arith::OrIOp::create(b, arith::ShLIOp::create(b, bits, word(8)), word(0x80000000)), low32);
    Value product[7], carry = word(0);
    for (int i = 0; i < 6; ++i) {
      Value sum = arith::AddIOp::create(b, arith::MulIOp::create(b, mantissa, word(twoByPi[i])), carry);
      product[i] = arith::AndIOp::create(b, sum, low32);
      carry = arith::ShRUIOp::create(b, sum, word(32));
    }
    product[6] = carry;
    // `e` is the number of leading bits of the product that are skipped, so that the first remaining bit has the value
    // 2. Whole words are skipped first, then single bits.
    Value exponent = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, word(23)), word(255));
    Value e = arith::SubIOp::create(b, exponent, word(128));
    Value skipped = arith::AndIOp::create(b, arith::ShRUIOp::create(b, e, word(5)), word(3));
    Value by = arith::AndIOp::create(b, e, word(31));
    auto from = [&](int first) {
      Value chosen = product[first];
      for (int skip = 1; skip < 4; ++skip)
        chosen = select(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, skipped, word(skip)), product[first - skip],
                        chosen);
      return chosen;
    };
    Value first = from(6), second = from(5), third = from(4);
    auto shifted = [&](Value high, Value low) -> Value {
      Value both = arith::OrIOp::create(b, arith::ShLIOp::create(b, high, word(32)), low);
      return arith::AndIOp::create(b, arith::ShRUIOp::create(b, arith::ShLIOp::create(b, both, by), word(32)), low32);
    };
    first = shifted(first, second);
    second = shifted(second, third);
    // The first two bits of `first`:`second` are the quadrant, and the other 62 bits are the fraction. Make the
    // fraction signed and relative to the nearest quadrant.
    Value both = arith::OrIOp::create(b, arith::ShLIOp::create(b, first, word(32)), second);
    Value turns = arith::ShRUIOp::create(b, first, word(30));
    Value fraction = arith::ShLIOp::create(b, both, word(2));
    Value above = arith::ShRUIOp::create(b, fraction, word(63));
    turns = arith::AddIOp::create(b, turns, above);
    constexpr double halfPi = 1.57079632679489661923;
    r = mul(arith::SIToFPOp::create(b, b.getF64Type(), fraction), number(halfPi * 0x1p-64));
    Value negative =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, bits, word(0x80000000)), word(0));
    r = select(negative, arith::NegFOp::create(b, r), r);
    quadrant = select(negative, arith::SubIOp::create(b, word(0), turns), turns);
  }

  ImplicitLocOpBuilder b;
  Value x, r, quadrant;
};

} // namespace

void expandLargeAngles(func::FuncOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (!isa<math::SinOp, math::CosOp, math::TanOp>(op) || !op->getResult(0).getType().isF64())
      return;
    auto widened = op->getOperand(0).getDefiningOp<arith::ExtFOp>();
    if (widened && widened.getIn().getType().isF32())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    op->getResult(0).replaceAllUsesWith(Angle(op).run(op));
    op->erase();
  }
}

} // namespace tilewright::gpu
