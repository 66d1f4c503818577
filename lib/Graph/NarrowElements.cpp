//===- NarrowElements.cpp - elements that do not take one, two, four or eight bytes -----------===//
//
// Two elements of 4 bits in each byte of %s are loaded as
//   %low = tw.reshape (tw.bitwise_and %s, 15) : tensor<8xui8> -> tensor<8x1xui8>
//   %high = tw.reshape (tw.bitwise_and (tw.shift_right %s, 4), 15) : tensor<8xui8> -> tensor<8x1xui8>
//   %both = tw.concat %low, %high {dim = 1} : (tensor<8x1xui8>, tensor<8x1xui8>) -> tensor<8x2xui8>
//
//===----------------------------------------------------------------------===//
#include "lib/Graph/NarrowElements.h"
#include "dialects/Graph/Dtype.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tilewright::graph {
namespace {

constexpr unsigned byteBits = 8;

/// Builds elementwise ops on the elements of one tensor.
class ElementOps {
public:
  ElementOps(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  template <typename Op> Value apply(Value x, uint64_t operand) {
    auto type = cast<RankedTensorType>(x.getType());
    auto scalar = RankedTensorType::get({}, type.getElementType());
    APInt number(type.getElementTypeBitWidth(), operand);
    Value constant = ConstantOp::create(builder, loc, scalar, cast<TypedAttr>(DenseElementsAttr::get(scalar, number)));
    return Op::create(builder, loc, type, x, constant);
  }
  Value convert(Value x, Type element) {
    auto type = cast<RankedTensorType>(x.getType());
    return type.getElementType() == element ? x : CastOp::create(builder, loc, withElementType(type, element), x);
  }
  Value reshape(Value x, ArrayRef<AffineExpr> sizes) {
    auto type = tensorWithSizes(sizes, getElementTypeOrSelf(x.getType()));
    return type == x.getType() ? x : ReshapeOp::create(builder, loc, type, x);
  }
  /// Returns `size` elements from `start` of the last dimension.
  Value slice(Value x, AffineExpr start, AffineExpr size) {
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<AffineExpr> sizes = sizesOf(type);
    if (sizes.back() == size)
      return x;
    SmallVector<AffineExpr> offsets(sizes.size(), builder.getAffineConstantExpr(0));
    offsets.back() = start;
    sizes.back() = size;
    return SliceOp::create(builder, loc, tensorWithSizes(sizes, type.getElementType()), x,
                           AffineMap::get(0, 0, offsets, builder.getContext()), SmallVector<int64_t>(sizes.size(), 1));
  }
  Value concat(ArrayRef<Value> parts, AffineExpr size) {
    auto type = cast<RankedTensorType>(parts.front().getType());
    SmallVector<AffineExpr> sizes = sizesOf(type);
    sizes.back() = size;
    return ConcatOp::create(builder, loc, tensorWithSizes(sizes, type.getElementType()), parts, type.getRank() - 1);
  }
  /// Appends zeros to the vector `x` until it has `size` elements.
  Value padded(Value x, int64_t size) {
    auto type = cast<RankedTensorType>(x.getType());
    const int64_t missing = size - type.getDimSize(0);
    if (missing == 0)
      return x;
    auto zerosType = RankedTensorType::get({missing}, type.getElementType());
    Value zeros = ConstantOp::create(
        builder, loc, zerosType,
        cast<TypedAttr>(DenseElementsAttr::get(zerosType, APInt::getZero(type.getElementTypeBitWidth()))));
    return concat({x, zeros}, builder.getAffineConstantExpr(size));
  }
  /// Returns `x`, of which the low `bits` bits are used, with the sign or zeros in the other bits.
  Value extended(Value x, unsigned bits) {
    auto integer = cast<IntegerType>(getElementTypeOrSelf(x.getType()));
    const unsigned unused = integer.getWidth() - bits;
    return unused ? apply<ShiftRightOp>(apply<ShiftLeftOp>(x, unused), unused) : x;
  }

private:
  OpBuilder &builder;
  Location loc;
};

IntegerType byteType(MLIRContext *context) { return IntegerType::get(context, byteBits, IntegerType::Unsigned); }

} // namespace

bool isNarrow(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return !llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  return packedBits(element) != 0;
}

unsigned packedBits(Type element) {
  std::optional<ScalarType> dtype = scalarTypeOf(element);
  const unsigned bits = dtype ? scalarTypeBits(*dtype) : byteBits;
  return bits < byteBits ? bits : 0;
}

IntegerType containerOf(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return byteType(element.getContext());
  const unsigned width = std::max<unsigned>(byteBits, llvm::PowerOf2Ceil(integer.getWidth()));
  return IntegerType::get(element.getContext(), width, integer.getSignedness());
}

AffineExpr wholeBytes(AffineExpr count, unsigned bits) {
  AffineExpr total = canonicalSize(count * bits);
  return total.isMultipleOf(byteBits) ? canonicalSize(total.floorDiv(byteBits)) : AffineExpr();
}

std::optional<StoredTensor> storedTensor(RankedTensorType type) {
  const unsigned bits = packedBits(type.getElementType());
  if (!bits)
    return StoredTensor{withElementType(type, containerOf(type.getElementType())), /*byRows=*/true};
  SmallVector<AffineExpr> sizes = sizesOf(type);
  if (!sizes.empty())
    if (AffineExpr row = wholeBytes(sizes.back(), bits)) {
      sizes.back() = row;
      return StoredTensor{tensorWithSizes(sizes, byteType(type.getContext())), /*byRows=*/true};
    }
  AffineExpr count = elementCount(type), bytes = wholeBytes(count, bits);
  if (!bytes && type.hasStaticShape())
    bytes = canonicalSize((count * bits).ceilDiv(byteBits));
  if (!bytes)
    return std::nullopt;
  return StoredTensor{tensorWithSizes({bytes}, byteType(type.getContext())), /*byRows=*/false};
}

Value loadContainers(OpBuilder &builder, Location loc, Value stored, RankedTensorType type) {
  const unsigned bits = packedBits(type.getElementType());
  if (!bits)
    return stored;
  ElementOps ops(builder, loc);
  SmallVector<AffineExpr> sizes = sizesOf(cast<RankedTensorType>(stored.getType()));
  const AffineExpr bytes = sizes.back();
  const unsigned perByte = byteBits / bits;
  sizes.push_back(builder.getAffineConstantExpr(1));
  SmallVector<Value> parts;
  for (unsigned part = 0; part < perByte; ++part) {
    Value shifted = part ? ops.apply<ShiftRightOp>(stored, part * bits) : stored;
    parts.push_back(ops.reshape(ops.apply<BitwiseAndOp>(shifted, (1u << bits) - 1), sizes));
  }
  Value all = ops.concat(parts, builder.getAffineConstantExpr(perByte));
  sizes.pop_back();
  sizes.back() = canonicalSize(bytes * perByte);
  all = ops.reshape(all, sizes);
  if (!storedTensor(type)->byRows)
    all = ops.slice(all, builder.getAffineConstantExpr(0), elementCount(type));
  all = ops.reshape(all, sizesOf(type));
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  if (!integer || integer.isUnsigned())
    return all;
  return ops.extended(ops.convert(all, containerOf(integer)), bits);
}

Value storeContainers(OpBuilder &builder, Location loc, Value containers, RankedTensorType type) {
  ElementOps ops(builder, loc);
  const unsigned bits = packedBits(type.getElementType());
  if (!bits)
    return ops.extended(containers, type.getElementTypeBitWidth());
  const unsigned perByte = byteBits / bits;
  StoredTensor stored = *storedTensor(type);
  Value all = ops.apply<BitwiseAndOp>(ops.convert(containers, byteType(type.getContext())), (1u << bits) - 1);
  SmallVector<AffineExpr> sizes = sizesOf(stored.type);
  if (!stored.byRows) {
    all = ops.reshape(all, {elementCount(type)});
    if (type.hasStaticShape())
      all = ops.padded(all, stored.type.getDimSize(0) * perByte);
  }
  sizes.push_back(builder.getAffineConstantExpr(perByte));
  all = ops.reshape(all, sizes);
  Value bytes;
  for (unsigned part = 0; part < perByte; ++part) {
    Value one = ops.slice(all, builder.getAffineConstantExpr(part), builder.getAffineConstantExpr(1));
    one = ops.reshape(one, sizesOf(stored.type));
    if (part)
      one = ops.apply<ShiftLeftOp>(one, part * bits);
    bytes = bytes ? BitwiseOrOp::create(builder, loc, stored.type, bytes, one) : one;
  }
  return bytes;
}

} // namespace tilewright::graph
