//===- LowerRandom.cpp - Philox 4x32-10 in the body of a generic -------------===//
//
// Before:
//   %1 = tw.random uniform %seed {stream = 3} : tensor<1xi64> -> tensor<4x8xf32>
// After:
//   %1 = linalg.generic {["parallel", "parallel"]} ins(%seed : (d0, d1) -> (0)) outs(%empty) {
//     // The counter is (row-major index, stream, 0), and the key is the seed. After ten rounds, the number is made of
//     // 24 bits of the first word or, for f64, of 53 bits of the first two words.
//
// Test: test/Kernels/lower-random.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tilewright::structured {
namespace {

/// Computes one block of Philox 4x32-10 (Salmon et al., SC 2011) on i32 values.
struct Philox {
  OpBuilder &b;
  Location loc;
  Value x0, x1, x2, x3, k0, k1;

  Value c(int64_t value) { return intConstant(b, loc, b.getI32Type(), static_cast<int32_t>(value)); }
  Value low(Value wide) { return arith::TruncIOp::create(b, loc, b.getI32Type(), wide); }
  Value high(Value wide) {
    Value shift = intConstant(b, loc, b.getI64Type(), 32);
    return low(arith::ShRUIOp::create(b, loc, wide, shift));
  }
  Value wideProduct(Value x, int64_t multiplier) {
    Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), x);
    return arith::MulIOp::create(b, loc, wide, intConstant(b, loc, b.getI64Type(), multiplier));
  }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }

  void round() {
    Value p0 = wideProduct(x0, 0xD2511F53), p1 = wideProduct(x2, 0xCD9E8D57);
    Value y0 = exclusiveOr(exclusiveOr(high(p1), x1), k0), y2 = exclusiveOr(exclusiveOr(high(p0), x3), k1);
    x1 = low(p1);
    x3 = low(p0);
    x0 = y0;
    x2 = y2;
  }
  void run() {
    for (int i = 0; i < 10; ++i) {
      if (i) {
        k0 = arith::AddIOp::create(b, loc, k0, c(0x9E3779B9));
        k1 = arith::AddIOp::create(b, loc, k1, c(0xBB67AE85));
      }
      round();
    }
  }
};

/// Returns (high + offset) * 2^-digits, where `high` is the integer in the `digits` high bits of `word`.
Value unitInterval(OpBuilder &b, Location loc, Value word, Type f, int64_t offset, int64_t digits = 24) {
  auto type = cast<IntegerType>(word.getType());
  Value bits = arith::ShRUIOp::create(b, loc, word, intConstant(b, loc, type, type.getWidth() - digits));
  if (offset)
    bits = arith::AddIOp::create(b, loc, bits, intConstant(b, loc, type, offset));
  Value number = arith::SIToFPOp::create(b, loc, f, bits);
  return arith::MulFOp::create(b, loc, number, floatConstant(b, loc, f, std::ldexp(1.0, -digits)), contractFlag(b));
}

/// Returns an i64 with the i32 values `high` and `low` as its halves.
Value wideWord(OpBuilder &b, Location loc, Value high, Value low) {
  Type i64 = b.getI64Type();
  Value top = arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i64, high), intConstant(b, loc, i64, 32));
  return arith::OrIOp::create(b, loc, top, arith::ExtUIOp::create(b, loc, i64, low));
}

} // namespace

LogicalResult lowerRandom(Lowering &l, graph::RandomOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<AffineExpr> sizes = graph::sizesOf(type);
  unsigned rank = sizes.size();
  Type element = type.getElementType();
  if (op.getKind() != graph::RandomKind::Bits && !isa<FloatType>(element))
    return op.emitOpError("draws from a continuous distribution, but the elements of its result are ") << element;
  SmallVector<Value> extents;
  for (AffineExpr size : sizes)
    extents.push_back(l.size(size));
  Read seed = l.read(op.getSeed(), l.map(rank, l.constant(0)));
  l.set(op, l.elementwise(sizes, storageType(element), seed, [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
    Type i64 = b.getI64Type();
    Value linear = arith::ConstantIndexOp::create(b, at, 0);
    for (unsigned i = 0; i < rank; ++i) {
      Value index = linalg::IndexOp::create(b, at, i);
      linear =
          i ? arith::AddIOp::create(b, at, arith::MulIOp::create(b, at, linear, extents[i]), index).getResult() : index;
    }
    Value counter = arith::IndexCastOp::create(b, at, i64, linear);
    Philox p{b, at, {}, {}, {}, {}, {}, {}};
    p.x0 = p.low(counter);
    p.x1 = p.high(counter);
    p.x2 = p.c(static_cast<int64_t>(op.getStream()));
    p.x3 = p.c(0);
    p.k0 = p.low(in[0]);
    p.k1 = p.high(in[0]);
    p.run();
    if (op.getKind() == graph::RandomKind::Bits) {
      Value word = wideWord(b, at, p.x1, p.x0);
      return SmallVector<Value>{castScalar(b, at, word, i64, element)};
    }
    Type f = computeType(element);
    // f64 has a mantissa of 53 bits, so it uses words of 64 bits.
    bool wide = f.isF64();
    Value first = wide ? wideWord(b, at, p.x0, p.x1) : p.x0, second = wide ? wideWord(b, at, p.x2, p.x3) : p.x1;
    int64_t digits = wide ? 53 : 24;
    if (op.getKind() == graph::RandomKind::Uniform) { // a number with more bits than the mantissa could round to 1
      digits = std::min<int64_t>(digits, cast<FloatType>(element).getFPMantissaWidth());
      return SmallVector<Value>{store(b, at, unitInterval(b, at, first, f, 0, digits), element)};
    }
    // Box-Muller; the first number is in (0, 1], so its logarithm is finite.
    auto flags = contractFlag(b);
    Value log = math::LogOp::create(b, at, unitInterval(b, at, first, f, 1, digits), flags);
    Value radius = arith::MulFOp::create(b, at, log, floatConstant(b, at, f, -2), flags);
    radius = math::SqrtOp::create(b, at, radius, flags);
    Value angle = arith::MulFOp::create(b, at, unitInterval(b, at, second, f, 0, digits),
                                        floatConstant(b, at, f, 6.28318530717958647692), flags);
    Value normal = arith::MulFOp::create(b, at, radius, math::CosOp::create(b, at, angle, flags), flags);
    return SmallVector<Value>{store(b, at, normal, element)};
  }));
  return success();
}

} // namespace tilewright::structured
