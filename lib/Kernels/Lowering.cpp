//===- Lowering.cpp - values, sizes and generics of the lowering -------------===//
#include "lib/Kernels/Lowering.h"
#include "dialects/Graph/Sizes.h"
#include "dialects/Tile/CopyReason.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::structured {

Lowering::Lowering(func::FuncOp function, Block &body)
    : builder(function.getContext()), loc(function.getLoc()), top(function.getContext()) {
  builder.setInsertionPointToEnd(&body);
  top.setInsertionPointToStart(&body);
  for (BlockArgument argument : body.getArguments())
    if (argument.getType().isIndex())
      symbols.push_back(argument);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t extent(AffineExpr size) {
  auto known = dyn_cast_or_null<AffineConstantExpr>(size);
  return known ? known.getValue() : ShapedType::kDynamic;
}

Read Lowering::of(Value tensor, AffineMap map) {
  return {tensor, map, TypedAttr(), cast<RankedTensorType>(tensor.getType()).getElementType()};
}

void Lowering::set(Value graphValue, Value tensor) {
  tensors[graphValue] = tensor;
  reads[graphValue] = {tensor, identity(typeOf(graphValue).getRank()), TypedAttr(),
                       typeOf(graphValue).getElementType()};
}

Read Lowering::read(Value graphValue, AffineMap iterationToValue) {
  Read result = reads.lookup(graphValue);
  if (!result.splat)
    result.map = result.map.compose(iterationToValue);
  return result;
}

Read Lowering::readBroadcast(Value graphValue, ArrayRef<AffineExpr> sizes) {
  SmallVector<AffineExpr> own = graph::sizesOf(typeOf(graphValue)), results;
  unsigned skipped = sizes.size() - own.size();
  for (unsigned i = 0; i < own.size(); ++i)
    results.push_back(own[i] == constant(1) && sizes[skipped + i] != constant(1) ? constant(0) : dim(skipped + i));
  return read(graphValue, map(sizes.size(), results));
}

/// Returns true if the map indexes the base in order, and leaves out only unit dimensions.
static bool onlyUnitDims(AffineMap map, ArrayRef<AffineExpr> sizes) {
  int64_t next = 0;
  auto skipTo = [&](int64_t end) {
    for (; next < end; ++next)
      if (auto size = dyn_cast<AffineConstantExpr>(sizes[next]); !size || size.getValue() != 1)
        return false;
    return true;
  };
  for (AffineExpr result : map.getResults()) {
    if (isa<AffineConstantExpr>(result))
      continue;
    int64_t position = cast<AffineDimExpr>(result).getPosition();
    if (position < next || !skipTo(position))
      return false;
    next = position + 1;
  }
  return skipTo(sizes.size());
}

Value Lowering::tensor(Value graphValue) {
  if (Value known = tensors.lookup(graphValue))
    return known;
  Read view = reads.lookup(graphValue);
  SmallVector<AffineExpr> sizes = graph::sizesOf(typeOf(graphValue));
  Type storage = storageType(view.elementType);
  Value result;
  if (view.splat) {
    OpBuilder::InsertionGuard guard(builder);
    Value value = splatConstant(builder, loc, view.splat, /*computed=*/false);
    result = linalg::FillOp::create(builder, loc, value, empty(sizes, storage)).getResult(0);
  } else if (view.map.isIdentity()) {
    result = view.base;
    // A size may be static because of a size guard, although it is dynamic in the type of the base.
    if (auto type = RankedTensorType::get(llvm::map_to_vector(sizes, extent), storage); type != result.getType())
      result = tensor::CastOp::create(builder, loc, type, result);
  } else if (onlyUnitDims(view.map, sizes)) {
    SmallVector<AffineExpr> from;
    for (AffineExpr e : view.map.getResults())
      from.push_back(isa<AffineConstantExpr>(e) ? constant(1) : sizes[cast<AffineDimExpr>(e).getPosition()]);
    result = reshaped(view.base, from, sizes);
  } else {
    // The consumer is the op that is being lowered, which may be func.return.
    StringRef consumer = name, inner = consumer.substr(consumer.rfind('.') + 1);
    const bool repeats = llvm::any_of(llvm::seq<unsigned>(0, sizes.size()), [&](unsigned dim) {
      return sizes[dim] != constant(1) && !view.map.isFunctionOfDim(dim);
    });
    const Location outer = loc;
    const std::string who = inner == "return" ? "a result of the call has" : inner.str() + " reads";
    loc = tile::withCopyReason(loc, who + " all elements in row-major order, and the tensor is a view that " +
                                        (repeats ? "repeats elements" : "permutes dimensions"));
    name = view.map.isPermutation() ? "permute" : "broadcast";
    result = copied(sizes, storage, stored(view));
    name = consumer;
    loc = outer;
  }
  tensors[graphValue] = result;
  return result;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Value Lowering::size(AffineExpr expr) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  Value &cached = sizeCache[expr];
  if (cached)
    return cached;
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return cached = arith::ConstantIndexOp::create(top, loc, value.getValue());
  AffineMap map = AffineMap::get(0, symbols.size(), expr);
  SmallVector<Value> operands(symbols);
  affine::canonicalizeMapAndOperands(&map, &operands);
  return cached = affine::AffineApplyOp::create(top, loc, map, operands);
}

OpFoldResult Lowering::foldedSize(AffineExpr expr) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return builder.getIndexAttr(value.getValue());
  return size(expr);
}

SmallVector<OpFoldResult> Lowering::foldedSizes(ArrayRef<AffineExpr> exprs) {
  return llvm::map_to_vector(exprs, [&](AffineExpr e) { return foldedSize(e); });
}

Value Lowering::empty(ArrayRef<AffineExpr> sizes, Type storage) {
  return tensor::EmptyOp::create(builder, loc, foldedSizes(sizes), storage);
}

Value Lowering::extractSlice(Value from, ArrayRef<OpFoldResult> offsets, ArrayRef<AffineExpr> sizes,
                             ArrayRef<OpFoldResult> strides) {
  if (llvm::is_contained(sizes, constant(0)))
    return filled(sizes, builder.getZeroAttr(cast<RankedTensorType>(from.getType()).getElementType()));
  return tensor::ExtractSliceOp::create(builder, loc, from, offsets, foldedSizes(sizes), strides);
}

Value Lowering::insertSlice(Value source, Value into, ArrayRef<OpFoldResult> offsets, ArrayRef<AffineExpr> sizes,
                            ArrayRef<OpFoldResult> strides) {
  if (llvm::is_contained(sizes, constant(0)))
    return into;
  return tensor::InsertSliceOp::create(builder, loc, source, into, offsets, foldedSizes(sizes), strides);
}

Value Lowering::filled(ArrayRef<AffineExpr> sizes, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(builder, loc, value);
  return linalg::FillOp::create(builder, loc, scalar, empty(sizes, value.getType())).getResult(0);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

linalg::GenericOp Lowering::generic(ArrayRef<Read> inputs, ValueRange outputs, ArrayRef<AffineMap> outputMaps,
                                    ArrayRef<utils::IteratorType> iterators, BodyBuilder body) {
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const Read &input : inputs)
    if (!input.splat) {
      tensors.push_back(input.base);
      maps.push_back(input.map);
    }
  llvm::append_range(maps, outputMaps);
  auto build = [&](OpBuilder &b, Location at, ValueRange arguments) {
    SmallVector<Value> loaded;
    unsigned next = 0;
    for (const Read &input : inputs)
      loaded.push_back(input.splat      ? splatConstant(b, at, input.splat, !input.asStored)
                       : input.asStored ? arguments[next++]
                                        : load(b, at, arguments[next++], input.elementType, input.asRounded));
    linalg::YieldOp::create(b, at, body(b, at, loaded, arguments.drop_front(next)));
  };
  NamedAttribute attribute(builder.getStringAttr(opAttrName), builder.getStringAttr(name));
  return linalg::GenericOp::create(builder, loc, TypeRange(outputs), tensors, outputs, maps, iterators, build,
                                   attribute);
}

Value Lowering::elementwise(ArrayRef<AffineExpr> sizes, Type storage, ArrayRef<Read> inputs, BodyBuilder body) {
  SmallVector<utils::IteratorType> iterators(sizes.size(), utils::IteratorType::parallel);
  return generic(inputs, empty(sizes, storage), identity(sizes.size()), iterators, body).getResult(0);
}

Value Lowering::contract(Value lhs, Value rhs, ArrayRef<AffineMap> maps, ArrayRef<AffineExpr> sizes, Type accumulator,
                         ArrayRef<NamedAttribute> attributes) {
  Value init = filled(sizes, cast<TypedAttr>(builder.getZeroAttr(accumulator)));
  return linalg::ContractOp::create(builder, loc, init.getType(), ValueRange{lhs, rhs}, init,
                                    builder.getAffineMapArrayAttr(maps), attributes)
      ->getResult(0);
}

Value Lowering::copied(ArrayRef<AffineExpr> sizes, Type storage, const Read &read) {
  const Location outer = loc;
  if (tile::copyReason(loc).empty())
    loc = tile::withCopyReason(loc, name + " reads its operand in another order or type than it is stored");
  Value result = elementwise(
      sizes, storage, read, [](OpBuilder &, Location, ValueRange in, ValueRange) { return SmallVector<Value>{in[0]}; });
  loc = outer;
  return result;
}

Value Lowering::rounded(Value tensor, ArrayRef<AffineExpr> sizes, Type elementType) {
  Type storage = storageType(elementType), from = typeOf(tensor).getElementType();
  if (storage == from)
    return tensor;
  return elementwise(sizes, storage, of(tensor, identity(sizes.size())),
                     [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
                       return SmallVector<Value>{store(b, at, in[0], elementType)};
                     });
}

Value Lowering::reshaped(Value tensor, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  if (from == to)
    return tensor;
  Type element = typeOf(tensor).getElementType();
  SmallVector<graph::ReshapeGroup> groups = graph::reshapeGroups(from, to);
  if (groups.empty() && !from.empty() && !to.empty()) {
    graph::ReshapeGroup all; // no groups of dimensions correspond, so merge all dimensions
    for (unsigned i = 0; i < from.size(); ++i)
      all.from.push_back(i);
    for (unsigned i = 0; i < to.size(); ++i)
      all.to.push_back(i);
    groups.push_back(all);
  }
  // Merge the source dimensions of each group, then split them into its result dimensions.
  SmallVector<ReassociationIndices> merge, split;
  SmallVector<int64_t> merged, unsplit;
  auto sizeOfGroup = [&](ArrayRef<int64_t> dims, ArrayRef<AffineExpr> sizes) {
    int64_t product = 1;
    for (int64_t d : dims)
      product = ShapedType::isDynamic(product) || ShapedType::isDynamic(extent(sizes[d])) ? ShapedType::kDynamic
                                                                                          : product * extent(sizes[d]);
    return product;
  };
  for (graph::ReshapeGroup &group : groups) {
    merge.emplace_back(group.from.begin(), group.from.end());
    split.emplace_back(group.to.begin(), group.to.end());
    merged.push_back(sizeOfGroup(group.from, from));
    unsplit.push_back(sizeOfGroup(group.to, to));
  }
  if (from.size() != groups.size())
    tensor = tensor::CollapseShapeOp::create(builder, loc, RankedTensorType::get(merged, element), tensor, merge);
  SmallVector<int64_t> shape = llvm::map_to_vector(to, extent);
  auto result = RankedTensorType::get(shape, element);
  auto whole = to.size() == groups.size() ? result : RankedTensorType::get(unsplit, element);
  if (tensor.getType() != whole)
    tensor = tensor::CastOp::create(builder, loc, whole, tensor);
  if (to.size() != groups.size())
    tensor = tensor::ExpandShapeOp::create(builder, loc, result, tensor, split, foldedSizes(to));
  return tensor;
}

} // namespace tilewright::structured
