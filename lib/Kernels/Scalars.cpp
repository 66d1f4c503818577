//===- Scalars.cpp - loads, stores, conversions, combining of elements --------===//
#include "lib/Kernels/Lowering.h"
#include "tilewright/ElementTypes.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace tilewright::structured {

Type storageType(Type elementType) {
  if (elementType.isInteger(1))
    return IntegerType::get(elementType.getContext(), 8);
  if (elementType.isUnsignedInteger())
    return IntegerType::get(elementType.getContext(), elementType.getIntOrFloatBitWidth());
  return elementType;
}

Type computeType(Type elementType) {
  if (isa<FloatType>(elementType) && elementType.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(elementType.getContext());
  return elementType.isInteger(1) ? elementType : storageType(elementType);
}

Type accumulatorType(Type elementType) {
  return isa<FloatType>(elementType) ? computeType(elementType) : storageType(elementType);
}

arith::FastMathFlagsAttr contractFlag(OpBuilder &b) {
  return arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract);
}

arith::FastMathFlagsAttr reductionFlags(OpBuilder &b) {
  return arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract | arith::FastMathFlags::reassoc);
}

arith::FastMathFlagsAttr extremeFlags(OpBuilder &b) {
  return arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::nsz);
}

Value floatConstant(OpBuilder &b, Location loc, Type type, double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

Value intConstant(OpBuilder &b, Location loc, Type type, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value load(OpBuilder &b, Location loc, Value stored, Type elementType, bool asRounded) {
  if (elementType.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, stored, intConstant(b, loc, stored.getType(), 0));
  Type compute = computeType(elementType);
  if (compute == stored.getType())
    return stored;
  return arith::ExtFOp::create(b, loc, compute, stored, asRounded ? arith::FastMathFlagsAttr() : contractFlag(b));
}

/// Rounds to a type with fewer bits. A conversion of f64 to 16 or 8 bits goes through f32 and rounds twice, as in
/// torch. On x86, only AVX512-FP16 has a direct conversion, and only from f64 to f16.
static Value roundTo(OpBuilder &b, Location loc, Type to, Value x, arith::FastMathFlagsAttr flags = {}) {
  if (to.getIntOrFloatBitWidth() < 32 && x.getType().isF64())
    x = arith::TruncFOp::create(b, loc, b.getF32Type(), x);
  return arith::TruncFOp::create(b, loc, to, x, arith::RoundingModeAttr(), flags);
}

Value store(OpBuilder &b, Location loc, Value computed, Type elementType) {
  Type storage = storageType(elementType);
  if (computed.getType() == storage)
    return computed;
  if (computed.getType().isInteger(1))
    return arith::ExtUIOp::create(b, loc, storage, computed);
  return roundTo(b, loc, storage, computed, contractFlag(b));
}

Value splatConstant(OpBuilder &b, Location loc, TypedAttr splat, bool computed) {
  Type type = computed ? computeType(splat.getType()) : storageType(splat.getType());
  if (auto value = dyn_cast<FloatAttr>(splat)) {
    APFloat number = value.getValue();
    bool lossy;
    number.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, number));
  }
  APInt number = cast<IntegerAttr>(splat).getValue();
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, number.zextOrTrunc(type.getIntOrFloatBitWidth())));
}

//===----------------------------------------------------------------------===//
// Explicit casts
//===----------------------------------------------------------------------===//

/// Converts to 32 and 64 bits as cvttss2si does: truncates values in range. For other values, including NaN, returns
/// the smallest integer.
static Value truncateToInteger(OpBuilder &b, Location loc, Value x, IntegerType type) {
  if (type.getWidth() < 32) { // like torch, converts to 32 bits and truncates the integer
    Value wide = truncateToInteger(b, loc, x, b.getI32Type());
    return arith::TruncIOp::create(b, loc, type, wide);
  }
  double limit = std::ldexp(1.0, type.getWidth() - 1);
  Type f = x.getType();
  // -limit - 1 rounds to -limit, which is itself in range, except that f64 represents -2^31 - 1 exactly.
  bool exact = f.isF64() && type.getWidth() == 32;
  Value above = arith::CmpFOp::create(b, loc, exact ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OGE, x,
                                      floatConstant(b, loc, f, exact ? -limit - 1 : -limit));
  Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, floatConstant(b, loc, f, limit));
  Value inRange = arith::AndIOp::create(b, loc, above, below);
  Value safe = arith::SelectOp::create(b, loc, inRange, x, floatConstant(b, loc, f, 0.0));
  Value converted = arith::FPToSIOp::create(b, loc, type, safe);
  Value smallest = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, APInt::getSignedMinValue(type.getWidth())));
  return arith::SelectOp::create(b, loc, inRange, converted, smallest);
}

/// Converts to unsigned types of 32 and 64 bits. Numbers below 2^(width - 1) are converted by truncateToInteger() as
/// signed numbers, so negative numbers in the signed range wrap around. From larger numbers, 2^(width - 1) is
/// subtracted, which is exact for numbers in range. The difference is converted as a signed number, and the highest bit
/// of the result is inverted. Numbers of at least 2^width become 0.
static Value truncateToUnsigned(OpBuilder &b, Location loc, Value x, IntegerType type) {
  Type f = x.getType();
  Value half = floatConstant(b, loc, f, std::ldexp(1.0, type.getWidth() - 1));
  Value isUpper = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, half);
  Value lower = arith::SelectOp::create(b, loc, isUpper, arith::SubFOp::create(b, loc, x, half), x);
  Value converted = truncateToInteger(b, loc, lower, type);
  Value highest = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, APInt::getSignMask(type.getWidth())));
  Value changed = arith::XOrIOp::create(b, loc, converted, highest);
  return arith::SelectOp::create(b, loc, isUpper, changed, converted);
}

Value castScalar(OpBuilder &b, Location loc, Value stored, Type from, Type to) {
  if (from == to)
    return stored;
  Type storage = storageType(to);
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    // Conversions between bf16 and f16, and of float8 to or from other types, go through f32.
    if (fromFloat.getWidth() == toFloat.getWidth() || isFloat8(from) || (isFloat8(to) && fromFloat.getWidth() < 32))
      stored = arith::ExtFOp::create(b, loc, b.getF32Type(), stored);
    if (stored.getType() == to)
      return stored;
    unsigned width = cast<FloatType>(stored.getType()).getWidth();
    if (width < toFloat.getWidth())
      return arith::ExtFOp::create(b, loc, to, stored);
    return roundTo(b, loc, to, stored);
  }
  Value x = load(b, loc, stored, from, /*asRounded=*/true);
  if (to.isInteger(1)) {
    Value nonZero = x;
    if (fromFloat)
      nonZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, floatConstant(b, loc, x.getType(), 0));
    else if (!from.isInteger(1))
      nonZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, intConstant(b, loc, x.getType(), 0));
    return store(b, loc, nonZero, to);
  }
  if (fromFloat)
    return to.isUnsignedInteger() && to.getIntOrFloatBitWidth() >= 32
               ? truncateToUnsigned(b, loc, x, cast<IntegerType>(storage))
               : truncateToInteger(b, loc, x, cast<IntegerType>(storage));
  bool isUnsigned = from.isInteger(1) || from.isUnsignedInteger();
  if (toFloat) {
    Type compute = computeType(to);
    Value converted = isUnsigned ? arith::UIToFPOp::create(b, loc, compute, x).getResult()
                                 : arith::SIToFPOp::create(b, loc, compute, x).getResult();
    return compute == to ? converted : roundTo(b, loc, to, converted);
  }
  unsigned width = x.getType().getIntOrFloatBitWidth(), target = storage.getIntOrFloatBitWidth();
  if (width == target)
    return x;
  if (width > target)
    return arith::TruncIOp::create(b, loc, storage, x);
  return isUnsigned ? arith::ExtUIOp::create(b, loc, storage, x).getResult()
                    : arith::ExtSIOp::create(b, loc, storage, x).getResult();
}

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

Value combineScalar(OpBuilder &b, Location loc, tile::Combiner kind, Value x, Value y, bool isUnsigned) {
  arith::FastMathFlagsAttr flags = tile::dependsOnOrder(kind, x.getType()) ? reductionFlags(b) : extremeFlags(b);
  return tile::combine(b, loc, kind, x, y, isUnsigned, flags.getValue());
}

Value signFlipped(OpBuilder &b, Location loc, Value x) {
  auto type = cast<IntegerType>(x.getType());
  Value highest = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, APInt::getSignMask(type.getWidth())));
  return arith::XOrIOp::create(b, loc, x, highest);
}

TypedAttr neutralElement(tile::Combiner kind, Type type, bool isUnsigned) {
  if (kind == tile::Combiner::And) // the operands of And are booleans, which are stored as 0 or 1
    return IntegerAttr::get(type, 1);
  return tile::identityOf(kind, type, isUnsigned);
}

} // namespace tilewright::structured
