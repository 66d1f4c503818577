//===- Node.cpp - emit ops with inferred types ---------------------------------===//
#include "lib/Import/Builder/Node.h"
#include "dialects/Graph/SizeRules.h"

namespace tilewright {

SmallVector<int64_t> allDims(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(0, rank)); }

SmallVector<AffineExpr> Node::broadcastSizes(ValueRange operands) {
  SmallVector<AffineExpr> result;
  for (Value operand : operands) {
    SmallVector<AffineExpr> sizes = sizesIn(operand);
    while (result.size() < sizes.size())
      result.insert(result.begin(), constantSize(1));
    size_t offset = result.size() - sizes.size();
    for (auto [i, size] : llvm::enumerate(sizes)) {
      AffineExpr &slot = result[offset + i];
      if (slot == constantSize(1))
        slot = size;
      else if (size != slot && size != constantSize(1))
        refuse("sizes of the operands do not broadcast: " + tensorName(typeOf(operand)) +
               " meets another size at dimension " + llvm::Twine(offset + i));
    }
  }
  return result;
}

AffineExpr Node::agreed(AffineExpr a, AffineExpr b) const {
  if (a == b)
    return a;
  auto difference = dyn_cast<AffineConstantExpr>(canonicalSize(a - b));
  if (!importer.guardsSizes || (difference && difference.getValue() != 0))
    return {};
  if ((isa<AffineConstantExpr>(a) && importer.varying.contains(b)) ||
      (isa<AffineConstantExpr>(b) && importer.varying.contains(a)))
    return {};
  return isa<AffineConstantExpr>(b) ? b : a;
}

SmallVector<Value> Node::agreeing(ArrayRef<Value> operands) {
  SmallVector<Value> fitted(operands);
  if (!importer.guardsSizes || operands.size() < 2)
    return fitted;
  int64_t rank = 0;
  for (Value operand : operands)
    rank = std::max(rank, rankOf(operand));
  const AffineExpr one = constantSize(1);
  SmallVector<AffineExpr> shape(rank, one);
  for (Value operand : operands)
    for (auto [i, size] : llvm::enumerate(sizesIn(operand))) {
      AffineExpr &slot = shape[rank - rankOf(operand) + i];
      AffineExpr both = slot == one ? size : size == one ? slot : agreed(slot, size);
      slot = both ? both : slot; // if `both` is null, the sizes do not agree, and broadcastSizes() refuses them
    }
  for (Value &operand : fitted) {
    SmallVector<AffineExpr> sizes = sizesIn(operand);
    for (auto [i, size] : llvm::enumerate(sizes)) {
      AffineExpr slot = shape[rank - rankOf(operand) + i];
      if (size != one && agreed(size, slot))
        size = slot;
    }
    operand = withSizes(operand, sizes);
  }
  return fitted;
}

Value Node::withSizes(Value value, ArrayRef<AffineExpr> sizes) {
  // A guard for each size is necessary, because the reshape only requires that the numbers of elements are equal.
  for (auto [own, size] : llvm::zip_equal(sizesIn(value), sizes))
    if (own != size)
      require(isa<AffineConstantExpr>(own) ? size : own, isa<AffineConstantExpr>(own) ? own : size);
  return reshape(value, sizes);
}

void Node::require(AffineExpr lhs, AffineExpr rhs, bool atLeast) {
  auto [low, high] = rangeOf(canonicalSize(lhs - rhs), importer.symbols);
  if (atLeast ? low >= 0 : low == 0 && high == 0)
    return;
  SmallVector<SymbolicSize> names(importer.symbols.size());
  for (const auto &entry : importer.symbols)
    names[::mlir::cast<AffineSymbolExpr>(entry.second.expr).getPosition()].name = entry.first().str();
  std::string text = sizeText(lhs, names) + " must be " + (atLeast ? "at least " : "") + sizeText(rhs, names);
  if (high < 0 || (!atLeast && low > 0))
    refuse(text);
  std::string where = target.str();
  if (auto name = ::mlir::dyn_cast<NameLoc>(loc))
    where = name.getName().str();
  importer.guards.push_back(guardAttr({lhs, rhs, atLeast}, names.size(), where + ": " + text));
}

Value Node::checked(Value condition, Value value, llvm::StringRef message) {
  SmallVector<Value> fitted = agreeing({condition, value});
  auto type = tensorWithSizes(broadcastSizes(fitted), elementOf(value));
  return RequireOp::create(builder, loc, type, fitted[0], fitted[1], message);
}

Value Node::convert(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  return CastOp::create(builder, loc, TypeRange{withElementType(typeOf(value), element)}, ValueRange{value})
      .getResult();
}

Type Node::ordered(Type element) {
  if (element.isUnsignedInteger(64))
    return element;
  if (element.isInteger(1) || element.isUnsignedInteger(8) || element.isUnsignedInteger(16))
    return builder.getI32Type();
  return element.isUnsignedInteger() ? i64() : element;
}

Value Node::cast(Value value, Type element) {
  if (element.isF64() && isWide(value))
    return value.getDefiningOp()->getOperand(0);
  Value result = convert(value, element);
  if (result != value && isa<FloatType>(elementOf(value)) && isa<FloatType>(element))
    result.getDefiningOp()->setAttr(implicitAttrName, builder.getUnitAttr());
  return result;
}

static Value constant0d(Node &n, Attribute value, Type element) {
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(n.builder, n.loc, type, cast<TypedAttr>(DenseElementsAttr::get(type, value)));
}

Value Node::scalar(double value, Type element) {
  if (auto floatType = dyn_cast<FloatType>(element)) {
    llvm::APFloat number(value);
    bool inexact;
    number.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return constant0d(*this, FloatAttr::get(floatType, number), element);
  }
  if (element.isInteger(1))
    return scalarInt(value != 0, element);
  constexpr double signedEnd = 9223372036854775808.0; // 2^63
  if (element.isUnsignedInteger(64) && value >= signedEnd && value < 2 * signedEnd)
    return scalarInt(int64_t(value - signedEnd) ^ std::numeric_limits<int64_t>::min(), element);
  if (!(value >= -signedEnd && value < signedEnd)) {
    refuse("the number " + llvm::Twine(std::to_string(value)) + " cannot be represented in " + dtypeName(element));
    return scalarInt(0, element);
  }
  return scalarInt(int64_t(value), element);
}

Value Node::scalarInt(int64_t value, Type element) {
  if (isa<FloatType>(element))
    return scalar(double(value), element);
  if (element.isInteger(1))
    value = value != 0;
  llvm::APInt bits(64, uint64_t(value), true);
  return constant0d(*this, IntegerAttr::get(element, bits.trunc(element.getIntOrFloatBitWidth())), element);
}

Value Node::indexScalar(AffineExpr value, Type element) {
  if (auto constant = dyn_cast<AffineConstantExpr>(value))
    return scalarInt(constant.getValue(), element);
  unsigned symbols = importer.symbols.size();
  auto map = AffineMap::get(0, symbols, canonicalSize(value));
  Value index = FromIndexOp::create(builder, loc, RankedTensorType::get({}, i64()), AffineMapAttr::get(map));
  return cast(index, element);
}

Value Node::countAlong(Value value, ArrayRef<int64_t> dims, Type element) {
  AffineExpr count = constantSize(1);
  SmallVector<AffineExpr> sizes = sizesIn(value);
  for (int64_t dim : dims)
    if (demand(dim >= 0 && dim < int64_t(sizes.size()), "there is no such dimension"))
      count = count * sizes[dim];
  return indexScalar(canonicalSize(count), element);
}

Value Node::reshape(Value value, ArrayRef<AffineExpr> sizes) {
  auto type = tensorWithSizes(sizes, elementOf(value));
  if (type == value.getType())
    return value;
  return ReshapeOp::create(builder, loc, type, value);
}

Value Node::permute(Value value, ArrayRef<int64_t> permutation) {
  if (int64_t(permutation.size()) == rankOf(value) &&
      llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  SmallVector<AffineExpr> sizes = sizesIn(value), result;
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!demand(llvm::equal(sorted, llvm::seq<int64_t>(0, sizes.size())), "the dimensions are not a permutation"))
    return value;
  for (int64_t dim : permutation)
    result.push_back(sizes[dim]);
  return PermuteOp::create(builder, loc, tensorWithSizes(result, elementOf(value)), value,
                           builder.getDenseI64ArrayAttr(permutation));
}

Value Node::transpose(Value value, int64_t a, int64_t b) {
  SmallVector<int64_t> permutation = allDims(rankOf(value));
  int64_t rank = rankOf(value);
  if (permutation.empty() || !demand(a >= 0 && b >= 0 && a < rank && b < rank, "there is no such dimension"))
    return value;
  std::swap(permutation[a], permutation[b]);
  return permute(value, permutation);
}

Value Node::broadcast(Value value, ArrayRef<AffineExpr> sizes) {
  auto type = tensorWithSizes(sizes, elementOf(value));
  if (type == value.getType())
    return value;
  return BroadcastOp::create(builder, loc, type, value);
}

Value Node::unsqueeze(Value value, int64_t dim) {
  SmallVector<AffineExpr> sizes = sizesIn(value);
  if (!demand(dim >= 0 && dim <= int64_t(sizes.size()), "there is no such dimension"))
    return value;
  sizes.insert(sizes.begin() + dim, constantSize(1));
  return reshape(value, sizes);
}

Value Node::alongDim(Value value, int64_t dim, int64_t rank) {
  SmallVector<AffineExpr> sizes(rank, constantSize(1));
  if (!demand(rankOf(value) == 1 && dim >= 0 && dim < rank, "a tensor of rank 1 is needed"))
    return value;
  sizes[dim] = sizesIn(value).front();
  return reshape(value, sizes);
}

Value Node::reduce(ReduceKind kind, Value value, ArrayRef<int64_t> dims, bool keepdim, Type element) {
  Type resultElement = element ? element : elementOf(value);
  SmallVector<AffineExpr> sizes;
  for (auto [i, size] : llvm::enumerate(sizesIn(value))) {
    if (!llvm::is_contained(dims, int64_t(i)))
      sizes.push_back(size);
    else if (keepdim)
      sizes.push_back(constantSize(1));
  }
  return ReduceOp::create(builder, loc, tensorWithSizes(sizes, resultElement), value, kind, dims, keepdim);
}

Value Node::matmul(Value lhs, Value rhs, Type element) {
  SmallVector<AffineExpr> sizes = sizesIn(lhs);
  if (!demand(rankOf(lhs) >= 2 && rankOf(rhs) >= 2, "the operands of a matrix product need at least two dimensions"))
    return lhs;
  bool empty = sizes.back() == constantSize(0); // if true, each element of the product is a sum of no terms
  sizes.back() = sizesIn(rhs).back();
  Type type = element ? element : elementOf(lhs);
  if (empty)
    return broadcast(scalarInt(0, type), sizes);
  return MatmulOp::create(builder, loc, tensorWithSizes(sizes, type), lhs, rhs);
}

Value Node::pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high, Attribute filler) {
  Type type = elementOf(value);
  SmallVector<AffineExpr> sizes = sizesIn(value);
  for (auto [size, before, after] : llvm::zip_equal(sizes, low, high))
    size = size + before + after;
  if (!filler)
    filler = isa<FloatType>(type) ? Attribute(builder.getFloatAttr(type, 0.0)) : builder.getIntegerAttr(type, 0);
  return PadOp::create(builder, loc, tensorWithSizes(sizes, type), value, builder.getDenseI64ArrayAttr(low),
                       builder.getDenseI64ArrayAttr(high), ::mlir::cast<TypedAttr>(filler));
}

Value Node::slice(Value value, ArrayRef<AffineExpr> offsets, ArrayRef<int64_t> strides, ArrayRef<AffineExpr> sizes) {
  auto type = tensorWithSizes(sizes, elementOf(value));
  bool whole = type == value.getType() && llvm::all_of(strides, [](int64_t s) { return s == 1; }) &&
               llvm::all_of(offsets, [&](AffineExpr o) { return o == constantSize(0); });
  if (whole)
    return value;
  SmallVector<AffineExpr> normal;
  for (AffineExpr offset : offsets)
    normal.push_back(canonicalSize(offset));
  auto map = AffineMap::get(0, importer.symbols.size(), normal, &importer.context);
  return SliceOp::create(builder, loc, type, value, AffineMapAttr::get(map), builder.getDenseI64ArrayAttr(strides));
}

Value Node::sliceDim(Value value, int64_t dim, AffineExpr offset, AffineExpr size, int64_t stride) {
  SmallVector<AffineExpr> sizes = sizesIn(value), offsets(sizes.size(), constantSize(0));
  SmallVector<int64_t> strides(sizes.size(), 1);
  if (!demand(dim < int64_t(sizes.size()), "a tensor of rank 0 cannot be split"))
    return value;
  offsets[dim] = offset;
  sizes[dim] = size;
  strides[dim] = stride;
  return slice(value, offsets, strides, sizes);
}

Value Node::concat(ArrayRef<Value> values, int64_t dim) {
  if (values.size() == 1)
    return values.front();
  SmallVector<AffineExpr> sizes = sizesIn(values.front());
  for (Value value : values)
    if (!demand(rankOf(value) == int64_t(sizes.size()) && dim < rankOf(value),
                "tensors of different ranks cannot be concatenated"))
      return values.front();
  for (Value value : values.drop_front())
    for (auto [i, size] : llvm::enumerate(sizesIn(value)))
      if (AffineExpr both = int64_t(i) == dim ? sizes[i] + size : agreed(sizes[i], size))
        sizes[i] = both;
  SmallVector<Value> fitted(values);
  for (Value &value : fitted) {
    SmallVector<AffineExpr> own = sizes;
    own[dim] = sizesIn(value)[dim];
    bool fits = true; // if `fits` is false, the verifier reports the sizes
    for (auto [size, wanted] : llvm::zip_equal(sizesIn(value), own))
      fits &= bool(agreed(size, wanted));
    value = fits ? withSizes(value, own) : value;
  }
  return ConcatOp::create(builder, loc, tensorWithSizes(sizes, elementOf(values.front())), ValueRange(fitted),
                          builder.getI64IntegerAttr(dim));
}

Value Node::iota(ArrayRef<AffineExpr> sizes, int64_t dim, Type element) {
  return IotaOp::create(builder, loc, tensorWithSizes(sizes, element), builder.getI64IntegerAttr(dim));
}

} // namespace tilewright
