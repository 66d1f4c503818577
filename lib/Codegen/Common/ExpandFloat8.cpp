//===- ExpandFloat8.cpp - --tw-expand-float8: lowers conversions of 8-bit floats to integer ops -===//
//
// Before:
//   %y = arith.extf %x : vector<16xf8E5M2> to vector<16xf32>
// After:
//   %0 = arith.bitcast %x : vector<16xf8E5M2> to vector<16xi8>
//   %1 = arith.extui %0 : vector<16xi8> to vector<16xi16>
//   %2 = arith.shli %1, dense<8> : vector<16xi16>
//   %3 = arith.bitcast %2 : vector<16xi16> to vector<16xf16>
//   %y = arith.extf %3 : vector<16xf16> to vector<16xf32>
//
// LLVM and the CPUs do not support 8-bit floats, so their values are stored as bytes. Each value is representable in
// f16, so it is converted to f32 through f16. The conversion from f32 rounds to nearest, ties to even, by integer
// operations on the bits. f8E4M3FN has no infinities: the result of an overflow is the largest number, and only NaN is
// converted to NaN. For f8E5M2, the result of an overflow is infinity. torch converts in the same way. Operands are
// scalars or vectors of any shape. The other type of a conversion may be a float or an integer of any bit width.
//
// Tests: test/Codegen/Common/expand-float8.mlir, test/Python/test_float8.py
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tilewright/ElementTypes.h"
#include "tilewright/Passes.h"

namespace tilewright {
#define GEN_PASS_DEF_EXPANDFLOAT8
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::vector_stage {
namespace {

/// Returns `element` with the shape of `like`.
Type lanesOf(Type like, Type element) {
  auto shaped = dyn_cast<ShapedType>(like);
  return shaped ? Type(shaped.clone(element)) : element;
}

/// The bit fields of `type`, an f8E4M3FN or f8E5M2.
struct Format {
  explicit Format(Type type)
      : isE4m3(isa<Float8E4M3FNType>(type)), mantissa(isE4m3 ? 3 : 2), bias(isE4m3 ? 7 : 15),
        largest(isE4m3 ? 0x7e : 0x7c) {}
  bool isE4m3;
  int64_t mantissa, bias;
  int64_t largest; ///< the result of an overflow: 448, or infinity
};

/// Emits the integer arithmetic of one conversion.
struct Bits {
  ImplicitLocOpBuilder &b;
  Type like; ///< a type that has the shape of the operands

  Type lanes(Type element) { return lanesOf(like, element); }
  Type integers(unsigned width) { return lanes(b.getIntegerType(width)); }
  Value constant(Type type, int64_t number) {
    TypedAttr one = b.getIntegerAttr(getElementTypeOrSelf(type), number);
    if (auto shaped = dyn_cast<ShapedType>(type))
      one = DenseElementsAttr::get(shaped, one);
    return arith::ConstantOp::create(b, one);
  }
  Value real(double number) {
    TypedAttr one = b.getF32FloatAttr(float(number));
    if (auto shaped = dyn_cast<ShapedType>(lanes(b.getF32Type())))
      one = DenseElementsAttr::get(shaped, one);
    return arith::ConstantOp::create(b, one);
  }
  Value with(Value x, int64_t number) { return constant(x.getType(), number); }
  Value add(Value x, int64_t number) { return arith::AddIOp::create(b, x, with(x, number)); }
  Value mask(Value x, int64_t number) { return arith::AndIOp::create(b, x, with(x, number)); }
  Value right(Value x, int64_t bits) { return arith::ShRUIOp::create(b, x, with(x, bits)); }
  Value left(Value x, int64_t bits) { return arith::ShLIOp::create(b, x, with(x, bits)); }
  Value compare(arith::CmpIPredicate predicate, Value x, int64_t number) {
    return arith::CmpIOp::create(b, predicate, x, with(x, number));
  }
  Value select(Value condition, Value yes, Value no) { return arith::SelectOp::create(b, condition, yes, no); }
};

/// Emits the conversion to f32.
Value extended(ImplicitLocOpBuilder &b, Value x) {
  const Format format(getElementTypeOrSelf(x.getType()));
  Bits bits{b, x.getType()};
  Type f32 = bits.lanes(b.getF32Type()), f16 = bits.lanes(b.getF16Type());
  Value byte = arith::BitcastOp::create(b, bits.integers(8), x);
  Value word = arith::ExtUIOp::create(b, bits.integers(16), byte);
  if (!format.isE4m3) // the bits of f8E5M2 are the upper half of an f16
    return arith::ExtFOp::create(b, f32, arith::BitcastOp::create(b, f16, bits.left(word, 8)).getResult());
  // Shifted left by 7, the magnitude of an f8E4M3FN is the magnitude of an f16, whose exponent has one bit more. The
  // biases of the exponents differ by 8, so multiply by 2^8 = 256.
  Value magnitude = bits.mask(word, 0x7f), sign = bits.left(bits.mask(word, 0x80), 8);
  Value isNan = bits.compare(arith::CmpIPredicate::eq, magnitude, 0x7f);
  Value number = bits.select(isNan, bits.with(word, 0x7e00), bits.left(magnitude, 7));
  Value half = arith::BitcastOp::create(b, f16, arith::OrIOp::create(b, sign, number));
  return arith::MulFOp::create(b, arith::ExtFOp::create(b, f32, half), bits.real(256));
}

/// Emits the conversion from f32.
Value rounded(ImplicitLocOpBuilder &b, Value x, Type to) {
  const Format format(getElementTypeOrSelf(to));
  const int64_t dropped = 23 - format.mantissa, least = 1 - format.bias; // exponent of the smallest normal number
  Bits bits{b, x.getType()};
  Value all = arith::BitcastOp::create(b, bits.integers(32), x), magnitude = bits.mask(all, 0x7fffffff);
  // For normal numbers, add half a unit in the last place, minus one if the last retained bit is 0 (ties to even), and
  // change the bias.
  Value even = bits.mask(bits.right(magnitude, dropped), 1);
  Value normal = arith::AddIOp::create(b, bits.add(magnitude, (int64_t(1) << (dropped - 1)) - 1), even);
  normal = bits.add(bits.right(normal, dropped), -((127 - format.bias) << format.mantissa));
  // For denormal numbers, add a float whose last bit has the same value as the last bit of a denormal f8 number.
  const int64_t unit = (127 + least - format.mantissa + 23) << 23;
  Value large = arith::BitcastOp::create(b, x.getType(), bits.constant(all.getType(), unit));
  Value sum = arith::AddFOp::create(b, arith::BitcastOp::create(b, x.getType(), magnitude), large);
  Value denormal = bits.add(arith::BitcastOp::create(b, all.getType(), sum), -unit);
  Value isDenormal = bits.compare(arith::CmpIPredicate::ult, magnitude, (127 + least) << 23);
  Value isNan = bits.compare(arith::CmpIPredicate::ugt, magnitude, 0x7f800000);
  Value finite = arith::MinUIOp::create(b, normal, bits.constant(all.getType(), format.largest));
  Value made = bits.select(isNan, bits.constant(all.getType(), 0x7f), bits.select(isDenormal, denormal, finite));
  made = arith::OrIOp::create(b, made, bits.mask(bits.right(all, 24), 0x80));
  return arith::BitcastOp::create(b, to, arith::TruncIOp::create(b, bits.integers(8), made));
}

/// Replaces a conversion between an integer and an 8-bit float by two conversions through f32. Such direct conversions
/// occur if folding has combined two conversions.
void goThroughF32(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op) && isFloat8(op->getResult(0).getType())) {
    Value result = op->getResult(0);
    const Type to = result.getType();
    result.setType(lanesOf(to, b.getF32Type()));
    b.setInsertionPointAfter(op);
    auto rounding = arith::TruncFOp::create(b, to, result);
    result.replaceAllUsesExcept(rounding, rounding);
  } else if (isa<arith::FPToSIOp, arith::FPToUIOp>(op) && isFloat8(op->getOperand(0).getType())) {
    Value x = op->getOperand(0);
    op->setOperand(0, arith::ExtFOp::create(b, lanesOf(x.getType(), b.getF32Type()), x));
  }
}

struct ExpandFloat8 : impl::ExpandFloat8Base<ExpandFloat8> {
  void runOnOperation() override {
    getOperation()->walk(goThroughF32);
    SmallVector<Operation *> found;
    getOperation()->walk([&](Operation *op) {
      if ((isa<arith::ExtFOp>(op) && isFloat8(op->getOperand(0).getType())) ||
          (isa<arith::TruncFOp>(op) && isFloat8(op->getResult(0).getType())))
        found.push_back(op);
    });
    for (Operation *op : found) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Value x = op->getOperand(0), made;
      Type to = op->getResult(0).getType(), f32 = lanesOf(to, b.getF32Type());
      if (isa<arith::ExtFOp>(op)) {
        made = extended(b, x);
        if (to != f32)
          made = getElementTypeOrSelf(to).getIntOrFloatBitWidth() > 32
                     ? arith::ExtFOp::create(b, to, made).getResult()
                     : arith::TruncFOp::create(b, to, made).getResult();
      } else {
        const unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
        if (width < 32)
          x = arith::ExtFOp::create(b, f32, x);
        else if (width > 32)
          x = arith::TruncFOp::create(b, f32, x);
        made = rounded(b, x, to);
      }
      op->getResult(0).replaceAllUsesWith(made);
      op->erase();
    }
  }
};

} // namespace
} // namespace tilewright::vector_stage
