//===- LowerIndexing.cpp - indexed reads to generics, indexed writes to scatter ===//
//
// Before:
//   %1 = tw.take %table [%i] {dim = 0} : (tensor<100x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
// After:
//   %1 = linalg.generic {(d0, d1) -> (d0), (d0, d1) -> (d0, d1)} ins(%i) outs(%empty) {
//   ^bb0(%index: i64, %out: f32):
//     %number = arith.index_cast %index : i64 to index
//     %p = tw_tile.place %number below %c100 from_end : index
//     %e = tensor.extract %table[%p, %d1]
//     linalg.yield %e
//
// Indexed writes become tw_tile.scatter into a copy of the input.
//
// Test: test/Kernels/lower-indexing.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Kernels/Lowering.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::structured {
namespace {

RankedTensorType indexedType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Converts `number`, an index operand of `op`, to an index in [0, size). Negative numbers count from the end unless
/// `op` has the attribute tw.from_start. Numbers out of range are reported (tw_tile.place).
Value wrapIndex(OpBuilder &b, Location at, Operation *op, Value number, Value size) {
  Value index = arith::IndexCastOp::create(b, at, b.getIndexType(), number);
  return tile::PlaceOp::create(b, at, index, size, /*from_end=*/!op->hasAttr(graph::fromStartAttrName));
}

/// Reads the element of `read`'s base at a coordinate of the value that `read` describes.
Value extractAt(OpBuilder &b, Location at, const Read &read, ArrayRef<Value> coordinate) {
  if (read.splat)
    return splatConstant(b, at, read.splat, /*computed=*/false);
  SmallVector<Value> indices;
  auto type = cast<RankedTensorType>(read.base.getType());
  for (auto [dim, e] : llvm::enumerate(read.map.getResults())) {
    auto d = dyn_cast<AffineDimExpr>(e);
    indices.push_back(d ? coordinate[d.getPosition()] : arith::ConstantIndexOp::create(b, at, 0).getResult());
    // If the dimension is empty, every index is out of range, and the call fails if there is any index.
    if (type.getDimSize(dim) == 0) {
      Value number = arith::IndexCastOp::create(b, at, b.getI64Type(), indices.back());
      return castScalar(b, at, number, number.getType(), type.getElementType());
    }
  }
  return tensor::ExtractOp::create(b, at, read.base, indices);
}

LogicalResult lowerTake(Lowering &l, graph::TakeOp op) {
  RankedTensorType input = indexedType(op.getInput()), result = indexedType(op.getResult());
  SmallVector<AffineExpr> sizes = graph::sizesOf(result), inputSizes = graph::sizesOf(input);
  unsigned dim = op.getDim(), count = op.getIndices().size();
  unsigned indexRank = result.getRank() + count - input.getRank();
  // The index tensors are indexed by the dimensions of the result that come from the indices.
  SmallVector<AffineExpr> indexDims;
  for (unsigned i = 0; i < indexRank; ++i)
    indexDims.push_back(l.dim(dim + i));
  SmallVector<AffineExpr> indexSizes(sizes.begin() + dim, sizes.begin() + dim + indexRank);
  SmallVector<Read> indices;
  for (Value index : op.getIndices()) {
    Read read = l.readBroadcast(index, indexSizes);
    if (!read.splat)
      read.map = read.map.compose(l.map(sizes.size(), indexDims));
    indices.push_back(read);
  }
  Read table = l.read(op.getInput(), l.identity(input.getRank()));
  SmallVector<Value> limits;
  for (unsigned i = 0; i < count; ++i)
    limits.push_back(l.size(inputSizes[dim + i]));
  l.set(op,
        l.elementwise(sizes, storageType(result.getElementType()), indices,
                      [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
                        SmallVector<Value> coordinate;
                        for (unsigned i = 0; i < input.getRank(); ++i)
                          coordinate.push_back(
                              i >= dim && i < dim + count
                                  ? wrapIndex(b, at, op, in[i - dim], limits[i - dim])
                                  : linalg::IndexOp::create(b, at, i < dim ? i : i - count + indexRank).getResult());
                        return SmallVector<Value>{extractAt(b, at, table, coordinate)};
                      }));
  return success();
}

LogicalResult lowerGather(Lowering &l, graph::GatherOp op) {
  RankedTensorType result = indexedType(op.getResult());
  SmallVector<AffineExpr> sizes = graph::sizesOf(result);
  Read table = l.read(op.getInput(), l.identity(result.getRank()));
  Read index = l.read(op.getIndex(), l.identity(result.getRank()));
  Value limit = l.size(graph::sizesOf(indexedType(op.getInput()))[op.getDim()]);
  l.set(op, l.elementwise(sizes, storageType(result.getElementType()), index,
                          [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
                            SmallVector<Value> coordinate;
                            for (int64_t i = 0; i < result.getRank(); ++i)
                              coordinate.push_back(i == int64_t(op.getDim())
                                                       ? wrapIndex(b, at, op, in[0], limit)
                                                       : linalg::IndexOp::create(b, at, i).getResult());
                            return SmallVector<Value>{extractAt(b, at, table, coordinate)};
                          }));
  return success();
}

/// Returns the type in which elements that are scattered to the same position are combined. The type is f32 for sums
/// and products of floats with fewer bits, otherwise the stored type.
Type meetingType(Type elementType, graph::ScatterKind kind) {
  bool accumulates = kind == graph::ScatterKind::Add || kind == graph::ScatterKind::Mul;
  return accumulates ? accumulatorType(elementType) : storageType(elementType);
}

/// Returns the kind with which elements are combined in the type in which they are stored. Booleans are stored as the
/// bytes 0 and 1, whose sum could wrap around to 0. Their logical sum is the maximum, and their product the minimum.
tile::ScatterKind storedKind(Type elementType, graph::ScatterKind kind) {
  const bool isBool = elementType.isInteger(1);
  if (isBool && kind == graph::ScatterKind::Add)
    return tile::ScatterKind::Max;
  if (isBool && kind == graph::ScatterKind::Mul)
    return tile::ScatterKind::Min;
  return static_cast<tile::ScatterKind>(kind);
}

/// Returns true if elements are combined by the order of unsigned integers, which the loops of a scatter do not
/// support: they compare signed integers.
bool meetsUnsigned(Type elementType, graph::ScatterKind kind) {
  return elementType.isUnsignedInteger() && (kind == graph::ScatterKind::Max || kind == graph::ScatterKind::Min);
}

/// Maps the unsigned elements of `tensor` to signed integers with the same order, or maps such signed integers back.
Value flipped(Lowering &l, Value tensor, ArrayRef<AffineExpr> sizes) {
  return l.elementwise(sizes, indexedType(tensor).getElementType(), Lowering::of(tensor, l.identity(sizes.size())),
                       [](OpBuilder &b, Location at, ValueRange in, ValueRange) {
                         return SmallVector<Value>{signFlipped(b, at, in[0])};
                       });
}

/// Returns a copy of `graphValue`, converted to the element type `meeting`. The scatter writes into this copy.
Value writableCopy(Lowering &l, Value graphValue, Type meeting) {
  RankedTensorType type = indexedType(graphValue);
  SmallVector<AffineExpr> sizes = graph::sizesOf(type);
  Read read = l.read(graphValue, l.identity(type.getRank()));
  if (read.splat) {
    Value number = splatConstant(l.builder, l.loc, read.splat, meeting != storageType(type.getElementType()));
    return linalg::FillOp::create(l.builder, l.loc, number, l.empty(sizes, meeting)).getResult(0);
  }
  read.asStored = meeting == storageType(type.getElementType());
  return l.copied(sizes, meeting, read);
}

/// Returns the source of a scatter as a tensor with the sizes `sizes` in the type `meeting`.
Value scatterSource(Lowering &l, Value graphValue, ArrayRef<AffineExpr> sizes, Type meeting) {
  RankedTensorType type = indexedType(graphValue);
  if (meeting == storageType(type.getElementType()) && graph::sizesOf(type) == sizes)
    return l.tensor(graphValue);
  Read read = l.readBroadcast(graphValue, sizes);
  read.asStored = meeting == storageType(type.getElementType());
  return l.copied(sizes, meeting, read);
}

void finishScatter(Lowering &l, Operation *op, Value source, ArrayRef<AffineExpr> sourceSizes, ArrayRef<Value> indices,
                   ArrayRef<AffineMap> indexMaps, AffineMap destMap, graph::ScatterKind kind, Value destination) {
  RankedTensorType type = indexedType(op->getResult(0));
  SmallVector<AffineExpr> sizes = graph::sizesOf(type);
  const bool flips = meetsUnsigned(type.getElementType(), kind);
  if (flips) {
    source = flipped(l, source, sourceSizes);
    destination = flipped(l, destination, sizes);
  }
  SmallVector<Value> inputs{source};
  llvm::append_range(inputs, indices);
  auto scatter = tile::ScatterOp::create(l.builder, l.loc, destination.getType(), inputs, destination,
                                         l.builder.getAffineMapArrayAttr(indexMaps), destMap,
                                         storedKind(type.getElementType(), kind));
  if (op->hasAttr(graph::fromStartAttrName))
    scatter->setAttr(fromStartAttrName, l.builder.getUnitAttr());
  Value result = flips ? flipped(l, scatter.getResult(0), sizes) : scatter.getResult(0);
  l.set(op->getResult(0), l.rounded(result, sizes, type.getElementType()));
}

LogicalResult lowerScatter(Lowering &l, graph::ScatterOp op) {
  RankedTensorType type = indexedType(op.getResult()), indexType = indexedType(op.getIndex());
  unsigned rank = type.getRank();
  Type meeting = meetingType(type.getElementType(), op.getKind());
  Value source = scatterSource(l, op.getSource(), graph::sizesOf(indexType), meeting);
  Value index = l.tensor(op.getIndex());
  SmallVector<AffineExpr> dest;
  for (unsigned i = 0; i < rank; ++i)
    dest.push_back(i == op.getDim() ? getAffineSymbolExpr(0, l.context()) : l.dim(i));
  finishScatter(l, op, source, graph::sizesOf(indexType), index, l.identity(rank),
                AffineMap::get(rank, 1, dest, l.context()), op.getKind(), writableCopy(l, op.getInput(), meeting));
  return success();
}

LogicalResult lowerPut(Lowering &l, graph::PutOp op) {
  RankedTensorType type = indexedType(op.getResult());
  SmallVector<AffineExpr> inputSizes = graph::sizesOf(type);
  unsigned dim = op.getDim(), count = op.getIndices().size();
  // The shape to which all index tensors broadcast.
  SmallVector<AffineExpr> indexSizes;
  for (Value index : op.getIndices()) {
    SmallVector<AffineExpr> own = graph::sizesOf(indexedType(index));
    if (own.size() > indexSizes.size())
      indexSizes.insert(indexSizes.begin(), own.size() - indexSizes.size(), l.constant(1));
    for (unsigned i = 0; i < own.size(); ++i) {
      AffineExpr &size = indexSizes[indexSizes.size() - own.size() + i];
      size = size == l.constant(1) ? own[i] : size;
    }
  }
  SmallVector<AffineExpr> space(inputSizes.begin(), inputSizes.begin() + dim), dest, indexDims;
  llvm::append_range(space, indexSizes);
  space.append(inputSizes.begin() + dim + count, inputSizes.end());
  for (unsigned i = 0; i < indexSizes.size(); ++i)
    indexDims.push_back(l.dim(dim + i));
  for (unsigned i = 0; i < inputSizes.size(); ++i)
    dest.push_back(i < dim           ? l.dim(i)
                   : i < dim + count ? getAffineSymbolExpr(i - dim, l.context())
                                     : l.dim(i - count + indexSizes.size()));
  Type meeting = meetingType(type.getElementType(), op.getKind());
  Value source = scatterSource(l, op.getSource(), space, meeting);
  SmallVector<Value> indices;
  SmallVector<AffineMap> maps;
  for (Value index : op.getIndices()) {
    Read read = l.readBroadcast(index, indexSizes);
    if (read.splat) { // the op needs a tensor even if all indices are one constant
      l.setRead(index, Lowering::of(l.tensor(index), l.identity(indexedType(index).getRank())));
      read = l.readBroadcast(index, indexSizes);
    }
    indices.push_back(read.base);
    maps.push_back(read.map.compose(l.map(space.size(), indexDims)));
  }
  finishScatter(l, op, source, space, indices, maps, AffineMap::get(space.size(), count, dest, l.context()),
                op.getKind(), writableCopy(l, op.getInput(), meeting));
  return success();
}

} // namespace

LogicalResult lowerIndexing(Lowering &l, Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<graph::TakeOp>([&](auto op) { return lowerTake(l, op); })
      .Case<graph::GatherOp>([&](auto op) { return lowerGather(l, op); })
      .Case<graph::ScatterOp>([&](auto op) { return lowerScatter(l, op); })
      .Case<graph::PutOp>([&](auto op) { return lowerPut(l, op); })
      .Default([](Operation *op) { return op->emitOpError("is not an indexed read or write"); });
}

} // namespace tilewright::structured
