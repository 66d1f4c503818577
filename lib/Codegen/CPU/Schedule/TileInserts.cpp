//===- TileInserts.cpp - tiling of concatenations and paddings -------------------------===//
//
// Before (tiles = [2, 0]):
//   func @kernel_0(%a: tensor<8x3xf32>, %b: tensor<8x5xf32>, %out: tensor<8x8xf32>) {
//     %0 = tensor.insert_slice %a into %out[0, 0] [8, 3] [1, 1]
//     %1 = tensor.insert_slice %b into %0[0, 3] [8, 5] [1, 1]
//     return %1 }
// After:
//   %r = scf.forall (%i) = (0) to (8) step (2) shared_outs(%o = %out) {
//     %t = slice %o[%i, 0] [2, 8]
//     %0 = tensor.insert_slice (slice %a[%i, 0] [2, 3]) into %t[0, 0] [2, 3] [1, 1]
//     %1 = tensor.insert_slice (slice %b[%i, 0] [2, 5]) into %0[0, 3] [2, 5] [1, 1]
//     in_parallel { tensor.parallel_insert_slice %1 into %o[%i, 0] [2, 8] } }
//
// A dimension is tiled only if every inserted tensor (a piece) covers the whole result in this dimension, so that each
// task has a part of each piece. If a linalg.generic of the kernel produces a piece, each task computes its part of the
// piece in place:
//     %p = linalg.generic ins(slice %a[%i, 0] [2, 3]) outs(slice %t[0, 0] [2, 3])
//     %0 = tensor.insert_slice %p into %t[0, 0] [2, 3] [1, 1]
//
// Test: test/Codegen/CPU/Schedule/tile-inserts.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Schedule/TileInserts.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/CPU/Schedule/KernelShapes.h"
#include "lib/Codegen/CPU/Schedule/TileBounds.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;

namespace tilewright::tiled {
namespace {

using Folds = SmallVector<OpFoldResult>;

Value sourceOf(Operation *piece) { return piece->getOperand(0); }

/// Returns the offsets of a piece in the result.
Folds offsetsOf(Operation *piece) {
  if (auto pad = dyn_cast<tensor::PadOp>(piece))
    return pad.getMixedLowPad();
  return cast<tensor::InsertSliceOp>(piece).getMixedOffsets();
}

Folds stridesOf(Operation *piece, Builder &builder) {
  if (auto pad = dyn_cast<tensor::PadOp>(piece))
    return Folds(pad.getType().getRank(), builder.getIndexAttr(1));
  return cast<tensor::InsertSliceOp>(piece).getMixedStrides();
}

/// Returns the elementwise producer of a piece if the producer is in the same kernel and has no other use
/// (FormKernels::makesPieceOf).
linalg::GenericOp producerOf(Operation *piece) {
  auto producer = sourceOf(piece).getDefiningOp<linalg::GenericOp>();
  return producer && producer->hasOneUse() && producer.getNumReductionLoops() == 0 &&
                 isa<tensor::InsertSliceOp>(piece) &&
                 producer.getMatchingIndexingMap(producer.getDpsInitOperand(0)).isIdentity()
             ? producer
             : linalg::GenericOp();
}

/// Makes the producer of the piece compute its result in the slice of the tensor into which the piece is inserted.
void computeInPlace(linalg::GenericOp producer, tensor::InsertSliceOp piece) {
  OpBuilder builder(piece);
  Value part = tensor::ExtractSliceOp::create(builder, piece.getLoc(), piece.getSourceType(), piece.getDest(),
                                              piece.getMixedOffsets(), piece.getMixedSizes(), piece.getMixedStrides());
  producer->moveBefore(piece);
  producer.getDpsInitsMutable()[0].set(part);
}

} // namespace

std::optional<InsertChain> insertChainOf(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  auto terminator = cast<func::ReturnOp>(body.getTerminator());
  if (terminator.getNumOperands() != 1)
    return std::nullopt;
  Value destination = kernel.getArgument(kernel.getNumArguments() - 1), value = terminator.getOperand(0);
  InsertChain chain;
  if (auto pad = value.getDefiningOp<tensor::PadOp>()) {
    if (!pad.getConstantPaddingValue())
      return std::nullopt;
    chain.pieces.push_back(pad);
  } else {
    while (auto insert = value.getDefiningOp<tensor::InsertSliceOp>()) {
      if (insert.getSourceType().getRank() != insert.getType().getRank())
        return std::nullopt;
      chain.pieces.insert(chain.pieces.begin(), insert);
      value = insert.getDest();
    }
    if (chain.pieces.empty())
      return std::nullopt;
    if (value != destination && !value.getDefiningOp<tensor::EmptyOp>())
      chain.base = value;
  }
  chain.sizes = tile::sizesOf(chain.result());
  const int64_t rank = cast<RankedTensorType>(chain.result().getType()).getRank();
  if (int64_t(chain.sizes.size()) != rank)
    return std::nullopt;
  auto isOther = [&](linalg::FillOp fill) { return fill.getResult(0) != chain.base; };
  if (llvm::any_of(body.getOps<linalg::FillOp>(), isOther))
    return std::nullopt;
  llvm::SmallPtrSet<Operation *, 8> known(chain.pieces.begin(), chain.pieces.end());
  for (Operation *piece : chain.pieces)
    if (linalg::GenericOp producer = producerOf(piece))
      known.insert(producer);
  if (llvm::any_of(membersOf(kernel), [&](Operation *member) { return !known.contains(member); }))
    return std::nullopt;
  Builder builder(kernel.getContext());
  chain.shared.resize(rank, true);
  for (Operation *piece : chain.pieces) {
    Folds offsets = offsetsOf(piece), strides = stridesOf(piece, builder);
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!isConstantIntValue(offsets[dim], 0) || !isConstantIntValue(strides[dim], 1) ||
          tile::sizeOf(sourceOf(piece), dim) != chain.sizes[dim])
        chain.shared.reset(dim);
  }
  return chain;
}

LogicalResult tileInserts(func::FuncOp kernel, const InsertChain &chain, ArrayRef<int64_t> tiles) {
  auto terminator = cast<func::ReturnOp>(kernel.getBody().front().getTerminator());
  OpBuilder builder(terminator);
  Location loc = chain.pieces.back()->getLoc();
  SmallVector<Value> symbols = tile::indexArguments(kernel);
  const int64_t rank = chain.sizes.size();
  Folds lower, upper, step, offset(rank, builder.getIndexAttr(0)), size(rank), ones(rank, builder.getIndexAttr(1));
  for (int64_t dim = 0; dim < rank; ++dim) {
    size[dim] = tile::materialize(builder, loc, chain.sizes[dim], symbols);
    if (isConstantIntValue(size[dim], 0))
      return success(); // the result has no elements
    if (tiles[dim] == 0)
      continue;
    lower.push_back(builder.getIndexAttr(0));
    upper.push_back(size[dim]);
    step.push_back(builder.getIndexAttr(tiles[dim]));
  }
  if (lower.empty()) {
    for (Operation *piece : chain.pieces)
      if (linalg::GenericOp producer = producerOf(piece))
        computeInPlace(producer, cast<tensor::InsertSliceOp>(piece));
    return success();
  }
  Value destination = kernel.getArgument(kernel.getNumArguments() - 1);
  auto forall = scf::ForallOp::create(builder, loc, lower, upper, step, destination, std::nullopt);
  builder.setInsertionPointToStart(forall.getBody());
  for (int64_t dim = 0, loop = 0; dim < rank; ++dim)
    if (tiles[dim] != 0) {
      Value iv = forall.getInductionVar(loop++);
      offset[dim] = iv;
      size[dim] = sizeOfTile(builder, loc, iv, tiles[dim], chain.sizes[dim], size[dim]);
    }
  auto part = [&](Value value, const Folds &sizes) -> Value {
    return tensor::ExtractSliceOp::create(builder, loc, value, offset, sizes, ones);
  };
  Value made = part(forall.getRegionIterArgs()[0], size);
  if (auto pad = dyn_cast<tensor::PadOp>(chain.pieces.front()))
    made = linalg::FillOp::create(builder, loc, pad.getConstantPaddingValue(), made).getResult(0);
  else if (auto fill = chain.base ? chain.base.getDefiningOp<linalg::FillOp>() : linalg::FillOp())
    made = linalg::FillOp::create(builder, loc, fill.getInputs(), made).getResult(0);
  else if (chain.base)
    made = linalg::CopyOp::create(builder, loc, part(chain.base, size), made).getResult(0);
  for (Operation *piece : chain.pieces) {
    Folds sizes = size;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!chain.shared.test(dim))
        sizes[dim] = tile::materialize(builder, loc, tile::sizeOf(sourceOf(piece), dim), symbols);
    Value source;
    if (linalg::GenericOp producer = producerOf(piece)) {
      FailureOr<TilingResult> tile =
          cast<TilingInterface>(producer.getOperation()).getTiledImplementation(builder, offset, sizes);
      if (failed(tile))
        return failure();
      source = tile->tiledValues.front();
      auto insert = tensor::InsertSliceOp::create(builder, piece->getLoc(), source, made, offsetsOf(piece), sizes,
                                                  stridesOf(piece, builder));
      computeInPlace(cast<linalg::GenericOp>(tile->tiledOps.front()), insert);
      made = insert;
      continue;
    }
    source = part(sourceOf(piece), sizes);
    made = tensor::InsertSliceOp::create(builder, piece->getLoc(), source, made, offsetsOf(piece), sizes,
                                         stridesOf(piece, builder));
  }
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, made, forall.getRegionIterArgs()[0], offset, size, ones);
  terminator->setOperands(forall.getResults());
  return success();
}

} // namespace tilewright::tiled
