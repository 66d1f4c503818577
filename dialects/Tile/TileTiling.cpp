//===- TileTiling.cpp - TilingInterface of the tw_tile ops --------------------===//
//
// A tile of an op is an op of the same kind on tiles of the operands. The loops are parallel dimensions of a result:
// all dimensions for matmul and convolution; batch, row and column for grouped convolution; batch and part for the
// depthwise gradient; the batch dimensions and the panel for pack; batch, head and row for attention; batch and head
// for its gradient. Other dimensions are not tiled. Scans, sorts and scatters do not implement the interface.
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::tile {
namespace {

using Folds = SmallVector<OpFoldResult>;

/// Sets `offsets` and `sizes` so that they cover all of `value`.
void wholeOf(OpBuilder &builder, Location loc, Value value, Folds &offsets, Folds &sizes) {
  auto type = cast<ShapedType>(value.getType());
  offsets.assign(type.getRank(), builder.getIndexAttr(0));
  sizes.clear();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    sizes.push_back(tensor::getMixedSize(builder, loc, value, dim));
}

/// Sets `cutOffsets` and `cutSizes` to `offsets` and `sizes` in the leading dimensions. In the other dimensions, sets
/// them so that they cover all of `value`.
void leadingOf(OpBuilder &builder, Location loc, Value value, ArrayRef<OpFoldResult> offsets,
               ArrayRef<OpFoldResult> sizes, Folds &cutOffsets, Folds &cutSizes) {
  wholeOf(builder, loc, value, cutOffsets, cutSizes);
  llvm::copy(offsets, cutOffsets.begin());
  llvm::copy(sizes, cutSizes.begin());
}

Value sliceOf(OpBuilder &builder, Location loc, Value value, const Folds &offsets, const Folds &sizes) {
  Folds strides(offsets.size(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes, strides);
}

OpFoldResult apply(OpBuilder &builder, Location loc, AffineExpr expr, ArrayRef<OpFoldResult> dims) {
  return affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(dims.size(), 0, expr), dims);
}

SmallVector<utils::IteratorType> parallelLoops(int64_t count) {
  return SmallVector<utils::IteratorType>(count, utils::IteratorType::parallel);
}

SmallVector<Range> domainOf(OpBuilder &builder, Location loc, Value shaped, ArrayRef<int64_t> dims) {
  SmallVector<Range> domain;
  for (int64_t dim : dims)
    domain.push_back(
        {builder.getIndexAttr(0), tensor::getMixedSize(builder, loc, shaped, dim), builder.getIndexAttr(1)});
  return domain;
}

FailureOr<TilingResult> tiledClone(OpBuilder &builder, Operation *op, ArrayRef<Value> operands) {
  SmallVector<Type> types;
  for (Value value : operands.take_back(op->getNumResults()))
    types.push_back(value.getType());
  Operation *tiled = mlir::clone(builder, op, types, operands);
  SmallVector<Operation *> slices;
  for (Value operand : operands)
    if (Operation *slice = operand.getDefiningOp<tensor::ExtractSliceOp>())
      slices.push_back(slice);
  return TilingResult{{tiled}, SmallVector<Value>(tiled->getResults()), slices};
}
} // namespace

//===--- matmul: loops b..., m, n -------------------------------------------===//

SmallVector<utils::IteratorType> MatmulOp::getLoopIteratorTypes() { return parallelLoops(numLoops(*this)); }

SmallVector<Range> MatmulOp::getIterationDomain(OpBuilder &builder) {
  return domainOf(builder, getLoc(), getOutputs()[0], llvm::to_vector(llvm::seq<int64_t>(0, numLoops(*this))));
}

FailureOr<TilingResult> MatmulOp::getTiledImplementation(OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                                         ArrayRef<OpFoldResult> sizes) {
  Location loc = getLoc();
  int64_t loops = numLoops(*this), batches = loops - 2;
  Folds aOffsets, aSizes, bOffsets, bSizes;
  wholeOf(builder, loc, getInputs()[0], aOffsets, aSizes);
  for (int64_t dim = 0; dim < loops - 1; ++dim) {
    aOffsets[getLhsPermutation()[dim]] = offsets[dim];
    aSizes[getLhsPermutation()[dim]] = sizes[dim];
  }
  wholeOf(builder, loc, getInputs()[1], bOffsets, bSizes);
  bool batchedB = cast<ShapedType>(getInputs()[1].getType()).getRank() == loops + 1;
  const bool chooses = getInputs().size() == 3, resolved = chooses && isConstantIntValue(sizes[0], 1);
  if (resolved) {
    Value batch = getValueOrCreateConstantIndexOp(builder, loc, offsets[0]);
    Value number = tensor::ExtractOp::create(builder, loc, getInputs()[2], batch);
    number = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
    Value limit = getValueOrCreateConstantIndexOp(builder, loc, bSizes[0]);
    bOffsets[0] = PlaceOp::create(builder, loc, number, limit, getFromEnd()).getResult();
    bSizes[0] = builder.getIndexAttr(1);
  } else if (batchedB && !chooses)
    for (int64_t dim = 0; dim < batches; ++dim) {
      bOffsets[dim] = offsets[dim];
      bSizes[dim] = sizes[dim];
    }
  AffineExpr d0 = builder.getAffineDimExpr(0);
  int64_t panelDim = batchedB ? batches : 0;
  bOffsets[panelDim] = apply(builder, loc, d0.floorDiv(getPanel()), {offsets[loops - 1]});
  bSizes[panelDim] = apply(builder, loc, d0.ceilDiv(getPanel()), {sizes[loops - 1]});
  SmallVector<Value> operands{sliceOf(builder, loc, getInputs()[0], aOffsets, aSizes),
                              sliceOf(builder, loc, getInputs()[1], bOffsets, bSizes)};
  if (chooses && !resolved)
    operands.push_back(sliceOf(builder, loc, getInputs()[2], {offsets[0]}, {sizes[0]}));
  operands.push_back(sliceOf(builder, loc, getOutputs()[0], Folds(offsets), Folds(sizes)));
  FailureOr<TilingResult> tiled = tiledClone(builder, *this, operands);
  if (resolved) {
    auto tile = cast<MatmulOp>(tiled->tiledOps.front());
    tile.getProperties().operandSegmentSizes = {2, 1};
    tile.setFromEnd(false);
  }
  return tiled;
}

LogicalResult MatmulOp::getResultTilePosition(OpBuilder &, unsigned, ArrayRef<OpFoldResult> offsets,
                                              ArrayRef<OpFoldResult> sizes, Folds &resultOffsets, Folds &resultSizes) {
  resultOffsets.assign(offsets.begin(), offsets.end());
  resultSizes.assign(sizes.begin(), sizes.end());
  return success();
}
LogicalResult MatmulOp::getIterationDomainTileFromResultTile(OpBuilder &builder, unsigned number,
                                                             ArrayRef<OpFoldResult> offsets,
                                                             ArrayRef<OpFoldResult> sizes,
                                                             SmallVectorImpl<OpFoldResult> &loopOffsets,
                                                             SmallVectorImpl<OpFoldResult> &loopSizes) {
  loopOffsets.assign(offsets.begin(), offsets.end());
  loopSizes.assign(sizes.begin(), sizes.end());
  return success();
}
FailureOr<TilingResult> MatmulOp::generateResultTileValue(OpBuilder &builder, unsigned, ArrayRef<OpFoldResult> offsets,
                                                          ArrayRef<OpFoldResult> sizes) {
  return getTiledImplementation(builder, offsets, sizes);
}

//===--- convolution: loops n, oh, ow, f -------------------------------------===//

SmallVector<utils::IteratorType> ConvolutionOp::getLoopIteratorTypes() { return parallelLoops(4); }

SmallVector<Range> ConvolutionOp::getIterationDomain(OpBuilder &builder) {
  return domainOf(builder, getLoc(), getOutputs()[0], {0, 1, 2, 3});
}

FailureOr<TilingResult> ConvolutionOp::getTiledImplementation(OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                                              ArrayRef<OpFoldResult> sizes) {
  Location loc = getLoc();
  Folds inOffsets, inSizes, wOffsets, wSizes;
  wholeOf(builder, loc, getInputs()[0], inOffsets, inSizes);
  wholeOf(builder, loc, getInputs()[1], wOffsets, wSizes);
  inOffsets[0] = offsets[0];
  inSizes[0] = sizes[0];
  AffineExpr d0 = builder.getAffineDimExpr(0);
  auto weight = cast<ShapedType>(getInputs()[1].getType());
  for (int64_t i = 0; i < 2; ++i) {
    int64_t merged = i == 0 ? getMergedHeight() : getMergedWidth();
    int64_t window = merged ? merged : weight.getDimSize(1 + i);
    int64_t stride = getStrides()[i], reach = (window - 1) * getDilations()[i];
    inOffsets[1 + i] = apply(builder, loc, d0 * stride, {offsets[1 + i]});
    inSizes[1 + i] = apply(builder, loc, (d0 - 1) * stride + reach + 1, {sizes[1 + i]});
  }
  wOffsets[0] = apply(builder, loc, d0.floorDiv(getPanel()), {offsets[3]});
  wSizes[0] = apply(builder, loc, d0.ceilDiv(getPanel()), {sizes[3]});
  return tiledClone(builder, *this,
                    {sliceOf(builder, loc, getInputs()[0], inOffsets, inSizes),
                     sliceOf(builder, loc, getInputs()[1], wOffsets, wSizes),
                     sliceOf(builder, loc, getOutputs()[0], Folds(offsets), Folds(sizes))});
}

LogicalResult ConvolutionOp::getResultTilePosition(OpBuilder &, unsigned, ArrayRef<OpFoldResult> offsets,
                                                   ArrayRef<OpFoldResult> sizes, Folds &resultOffsets,
                                                   Folds &resultSizes) {
  resultOffsets.assign(offsets.begin(), offsets.end());
  resultSizes.assign(sizes.begin(), sizes.end());
  return success();
}
LogicalResult ConvolutionOp::getIterationDomainTileFromResultTile(OpBuilder &builder, unsigned number,
                                                                  ArrayRef<OpFoldResult> offsets,
                                                                  ArrayRef<OpFoldResult> sizes,
                                                                  SmallVectorImpl<OpFoldResult> &loopOffsets,
                                                                  SmallVectorImpl<OpFoldResult> &loopSizes) {
  loopOffsets.assign(offsets.begin(), offsets.end());
  loopSizes.assign(sizes.begin(), sizes.end());
  return success();
}
FailureOr<TilingResult> ConvolutionOp::generateResultTileValue(OpBuilder &builder, unsigned,
                                                               ArrayRef<OpFoldResult> offsets,
                                                               ArrayRef<OpFoldResult> sizes) {
  return getTiledImplementation(builder, offsets, sizes);
}

//===--- grouped convolution: loops n, oh, ow ---------------------------------===//

SmallVector<utils::IteratorType> GroupedConvolutionOp::getLoopIteratorTypes() { return parallelLoops(3); }

SmallVector<Range> GroupedConvolutionOp::getIterationDomain(OpBuilder &builder) {
  return domainOf(builder, getLoc(), getOutputs()[0], {0, 1, 2});
}

FailureOr<TilingResult> GroupedConvolutionOp::getTiledImplementation(OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                                                     ArrayRef<OpFoldResult> sizes) {
  Location loc = getLoc();
  if (!getFirst().empty())
    return emitOpError("is a tile already");
  Folds inOffsets, inSizes, wOffsets, wSizes, outOffsets, outSizes;
  leadingOf(builder, loc, getInputs()[0], offsets.take_front(), sizes.take_front(), inOffsets, inSizes);
  wholeOf(builder, loc, getInputs()[1], wOffsets, wSizes);
  if (failed(getResultTilePosition(builder, 0, offsets, sizes, outOffsets, outSizes)))
    return failure();
  FailureOr<TilingResult> tiled = tiledClone(builder, *this,
                                             {sliceOf(builder, loc, getInputs()[0], inOffsets, inSizes),
                                              sliceOf(builder, loc, getInputs()[1], wOffsets, wSizes),
                                              sliceOf(builder, loc, getOutputs()[0], outOffsets, outSizes)});
  // Pass the position of the tile to the op, because the position determines which taps are inside the input.
  if (succeeded(tiled)) {
    auto tile = cast<GroupedConvolutionOp>(tiled->tiledOps[0]);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(tile);
    tile.getFirstMutable().assign({getValueOrCreateConstantIndexOp(builder, loc, offsets[1]),
                                   getValueOrCreateConstantIndexOp(builder, loc, offsets[2])});
  }
  return tiled;
}

LogicalResult GroupedConvolutionOp::getResultTilePosition(OpBuilder &builder, unsigned, ArrayRef<OpFoldResult> offsets,
                                                          ArrayRef<OpFoldResult> sizes, Folds &resultOffsets,
                                                          Folds &resultSizes) {
  leadingOf(builder, getLoc(), getOutputs()[0], offsets, sizes, resultOffsets, resultSizes);
  return success();
}

//===--- depthwise gradient: loops n, part --------------------------------------===//

SmallVector<utils::IteratorType> DepthwiseGradientOp::getLoopIteratorTypes() { return parallelLoops(2); }

SmallVector<Range> DepthwiseGradientOp::getIterationDomain(OpBuilder &builder) {
  return domainOf(builder, getLoc(), getOutputs()[0], {0, 1});
}

FailureOr<TilingResult> DepthwiseGradientOp::getTiledImplementation(OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                                                    ArrayRef<OpFoldResult> sizes) {
  Location loc = getLoc();
  if (getFirstPart())
    return emitOpError("is a tile already");
  SmallVector<Value> operands;
  for (Value input : getInputs()) {
    Folds inOffsets, inSizes;
    leadingOf(builder, loc, input, offsets.take_front(), sizes.take_front(), inOffsets, inSizes);
    operands.push_back(sliceOf(builder, loc, input, inOffsets, inSizes));
  }
  Folds outOffsets, outSizes;
  if (failed(getResultTilePosition(builder, 0, offsets, sizes, outOffsets, outSizes)))
    return failure();
  operands.push_back(sliceOf(builder, loc, getOutputs()[0], outOffsets, outSizes));
  FailureOr<TilingResult> tiled = tiledClone(builder, *this, operands);
  if (succeeded(tiled)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(tiled->tiledOps[0]);
    cast<DepthwiseGradientOp>(tiled->tiledOps[0])
        .getFirstPartMutable()
        .assign(getValueOrCreateConstantIndexOp(builder, loc, offsets[1]));
  }
  return tiled;
}

LogicalResult DepthwiseGradientOp::getResultTilePosition(OpBuilder &builder, unsigned, ArrayRef<OpFoldResult> offsets,
                                                         ArrayRef<OpFoldResult> sizes, Folds &resultOffsets,
                                                         Folds &resultSizes) {
  leadingOf(builder, getLoc(), getOutputs()[0], offsets, sizes, resultOffsets, resultSizes);
  return success();
}

//===--- pack: loops are the batch dimensions and the panel -------------------===//

static int64_t packBatches(PackOp op) {
  return cast<ShapedType>(op.getOutputs()[0].getType()).getRank() - 3 - op.getInner();
}

SmallVector<utils::IteratorType> PackOp::getLoopIteratorTypes() { return parallelLoops(packBatches(*this) + 1); }

SmallVector<Range> PackOp::getIterationDomain(OpBuilder &builder) {
  return domainOf(builder, getLoc(), getOutputs()[0], llvm::to_vector(llvm::seq<int64_t>(0, packBatches(*this) + 1)));
}

FailureOr<TilingResult> PackOp::getTiledImplementation(OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                                       ArrayRef<OpFoldResult> sizes) {
  Location loc = getLoc();
  int64_t batches = packBatches(*this);
  Folds inOffsets, inSizes, outOffsets, outSizes;
  wholeOf(builder, loc, getInputs()[0], inOffsets, inSizes);
  leadingOf(builder, loc, getOutputs()[0], offsets, sizes, outOffsets, outSizes);
  for (int64_t dim = 0; dim < batches; ++dim) {
    inOffsets[getPermutation()[dim]] = offsets[dim];
    inSizes[getPermutation()[dim]] = sizes[dim];
  }
  // The last panel may have fewer columns, because it ends at N.
  int64_t column = getPermutation().back();
  AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1), d2 = builder.getAffineDimExpr(2);
  OpFoldResult n = inSizes[column];
  inOffsets[column] = apply(builder, loc, d0 * getPanel(), {offsets[batches]});
  AffineMap bound = AffineMap::get(3, 0, {d1 * getPanel(), d2 - d0 * getPanel()}, getContext());
  inSizes[column] = affine::makeComposedFoldedAffineMin(builder, loc, bound, {offsets[batches], sizes[batches], n});
  return tiledClone(builder, *this,
                    {sliceOf(builder, loc, getInputs()[0], inOffsets, inSizes),
                     sliceOf(builder, loc, getOutputs()[0], outOffsets, outSizes)});
}

LogicalResult PackOp::getResultTilePosition(OpBuilder &builder, unsigned, ArrayRef<OpFoldResult> offsets,
                                            ArrayRef<OpFoldResult> sizes, Folds &resultOffsets, Folds &resultSizes) {
  leadingOf(builder, getLoc(), getOutputs()[0], offsets, sizes, resultOffsets, resultSizes);
  return success();
}

//===--- attention: loops batch, head, row ------------------------------------===//

/// Returns the dimension of `operand` that corresponds to dimension `dim` of the order batch, head, row, column.
/// `operand` is 0 for the query, 1 for the key, 2 for the value, and 3 for the result. For the gradient, it may also be
/// 4 for the gradient of the result, and 5 to 7 for the gradients of query, key and value.
template <typename Op> static int64_t dimOf(Op op, int64_t operand, int64_t dim) {
  std::optional<ArrayRef<int64_t>> permutations = op.getPermutations();
  return permutations ? (*permutations)[operand * 4 + dim] : dim;
}

SmallVector<utils::IteratorType> AttentionOp::getLoopIteratorTypes() { return parallelLoops(3); }

SmallVector<Range> AttentionOp::getIterationDomain(OpBuilder &builder) {
  return domainOf(builder, getLoc(), getOutputs()[1], {0, 1, 2});
}

FailureOr<TilingResult> AttentionOp::getTiledImplementation(OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                                            ArrayRef<OpFoldResult> sizes) {
  Location loc = getLoc();
  if (!isConstantIntValue(sizes[0], 1) || !isConstantIntValue(sizes[1], 1))
    return emitOpError("is tiled one batch and one head at a time");
  SmallVector<Value> operands;
  auto heads = [&](Value v, int64_t operand) {
    return cast<ShapedType>(v.getType()).getDimSize(dimOf(*this, operand, 1));
  };
  int64_t group = heads(getInputs()[0], 0) / heads(getInputs()[1], 1);
  OpFoldResult keyHead = apply(builder, loc, builder.getAffineDimExpr(0).floorDiv(group), {offsets[1]});
  for (int64_t operand = 0; operand < 3; ++operand) {
    Folds o, s;
    wholeOf(builder, loc, getInputs()[operand], o, s);
    auto set = [&](int64_t dim, OpFoldResult offset, OpFoldResult size) {
      o[dimOf(*this, operand, dim)] = offset;
      s[dimOf(*this, operand, dim)] = size;
    };
    set(0, offsets[0], sizes[0]);
    set(1, operand == 0 ? offsets[1] : keyHead, sizes[1]);
    if (operand == 0)
      set(2, offsets[2], sizes[2]);
    operands.push_back(sliceOf(builder, loc, getInputs()[operand], o, s));
  }
  if (getInputs().size() == 4) {
    Folds o, s;
    wholeOf(builder, loc, getInputs()[3], o, s);
    for (int64_t dim = 0; dim < 3; ++dim)
      if (cast<ShapedType>(getInputs()[3].getType()).getDimSize(dim) != 1) {
        o[dim] = offsets[dim];
        s[dim] = sizes[dim];
      }
    operands.push_back(sliceOf(builder, loc, getInputs()[3], o, s));
  }
  for (unsigned number = 0; number < 2; ++number) {
    Folds o, s;
    if (failed(getResultTilePosition(builder, number, offsets, sizes, o, s)))
      return failure();
    operands.push_back(sliceOf(builder, loc, getOutputs()[number], o, s));
  }
  FailureOr<TilingResult> tiled = tiledClone(builder, *this, operands);
  // A causal tile needs the index of its first row to determine which keys a row attends to.
  if (succeeded(tiled) && getCausal())
    cast<AttentionOp>(tiled->tiledOps[0])
        .getFirstRowMutable()
        .assign(getValueOrCreateConstantIndexOp(builder, loc, offsets[2]));
  return tiled;
}

LogicalResult AttentionOp::getResultTilePosition(OpBuilder &builder, unsigned number, ArrayRef<OpFoldResult> offsets,
                                                 ArrayRef<OpFoldResult> sizes, Folds &resultOffsets,
                                                 Folds &resultSizes) {
  wholeOf(builder, getLoc(), getOutputs()[number], resultOffsets, resultSizes);
  for (int64_t dim = 0; dim < 3; ++dim) {
    int64_t resultDim = number == 0 ? dimOf(*this, 3, dim) : dim;
    resultOffsets[resultDim] = offsets[dim];
    resultSizes[resultDim] = sizes[dim];
  }
  return success();
}

SmallVector<utils::IteratorType> AttentionGradientOp::getLoopIteratorTypes() { return parallelLoops(2); }

SmallVector<Range> AttentionGradientOp::getIterationDomain(OpBuilder &builder) {
  return domainOf(builder, getLoc(), getInputs()[5], {0, 1});
}

FailureOr<TilingResult> AttentionGradientOp::getTiledImplementation(OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                                                    ArrayRef<OpFoldResult> sizes) {
  constexpr size_t logsumexp = 5, maskNumber = 6;
  Location loc = getLoc();
  if (!isConstantIntValue(sizes[0], 1) || !isConstantIntValue(sizes[1], 1))
    return emitOpError("is tiled one batch and one head at a time");
  SmallVector<Value> operands;
  for (auto [number, value] : llvm::enumerate(getInputs())) {
    Folds o, s;
    wholeOf(builder, loc, value, o, s);
    for (int64_t dim = 0; dim < 2; ++dim) {
      if (number == maskNumber && cast<ShapedType>(value.getType()).getDimSize(dim) == 1)
        continue;
      const bool isPermuted = number < logsumexp && cast<ShapedType>(value.getType()).getRank() == 4;
      int64_t resultDim = isPermuted ? dimOf(*this, number, dim) : dim;
      o[resultDim] = offsets[dim];
      s[resultDim] = sizes[dim];
    }
    operands.push_back(sliceOf(builder, loc, value, o, s));
  }
  for (unsigned number = 0; number < 3; ++number) {
    Folds o, s;
    if (failed(getResultTilePosition(builder, number, offsets, sizes, o, s)))
      return failure();
    operands.push_back(sliceOf(builder, loc, getOutputs()[number], o, s));
  }
  return tiledClone(builder, *this, operands);
}

LogicalResult AttentionGradientOp::getResultTilePosition(OpBuilder &builder, unsigned number,
                                                         ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                                                         Folds &resultOffsets, Folds &resultSizes) {
  wholeOf(builder, getLoc(), getOutputs()[number], resultOffsets, resultSizes);
  for (int64_t dim = 0; dim < 2; ++dim) {
    resultOffsets[dimOf(*this, 5 + number, dim)] = offsets[dim];
    resultSizes[dimOf(*this, 5 + number, dim)] = sizes[dim];
  }
  return success();
}

} // namespace tilewright::tile
