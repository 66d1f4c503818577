//===- SplitScatters.cpp - split scatters of many source rows to a small number of rows -----===//
//
// Before (the gradient of an embedding of 2 words: each of 2 warps adds up to 8192 rows, one after the other):
//   %r = call @kernel_0(%s, %i, %into)                 // s: 8192 x 768, i: 8192, r: 2 x 768
//       tw_tile.scatter add {index_maps = [(n, k) -> (n)], dest_map = (n, k)[s] -> (s, k)} ins(%s, %i) outs(zeros)
// After:
//   %s1 = tensor.expand_shape %s [[0, 1], [2]] : 128 x 64 x 768         // views: nothing is copied
//   %i1 = tensor.expand_shape %i [[0, 1]] : 128 x 64
//   %p = call @kernel_0_parts(%s1, %i1, %empty) : 128 x 2 x 768         // 256 warps
//       tw_tile.scatter add {index_maps = [(p, n, k) -> (p, n)], dest_map = (p, n, k)[s] -> (p, s, k)}
//   %r = call @kernel_0(%p, %into)                                      // adds the parts in order
//
// The result does not depend on the run, because there are no atomics (as in docs/decisions/0034-split-sums.md).
// The source rows may be computed from arguments of the kernel by an elementwise op, such as a cast of bf16 to f32.
//
// Tests: test/Codegen/GPU/Schedule/split-scatters.mlir, test/Python/test_cuda.py (test_scatter_to_few_rows)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/SplitScatters.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/Elements.h"
#include "lib/Codegen/GPU/ScatterRows.h"
#include "lib/Codegen/GPU/Schedule/SumOfParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// A loop of the source rows, and the number of parts of this loop.
struct Parts {
  unsigned loop = 0;
  int64_t number = 1;
};

/// Returns the dimension of an index tensor that `loop` indexes, -1 if the tensor does not depend on the loop, or
/// std::nullopt if a view of the tensor cannot split the loop.
std::optional<int64_t> dimensionOf(AffineMap map, unsigned loop) {
  int64_t found = -1;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (found >= 0 || !isa<AffineDimExpr>(expr))
      return std::nullopt;
    found = int64_t(dim);
  }
  return found;
}

/// Returns the elementwise op that computes the source rows from arguments of the kernel, or null.
linalg::GenericOp producerOf(tile::ScatterOp op) {
  auto producer = op.getInputs()[0].getDefiningOp<linalg::GenericOp>();
  if (!producer || producer.getNumReductionLoops() > 0 || producer->getNumResults() != 1 || !producer->hasOneUse() ||
      !producer.getMatchingIndexingMap(producer.getDpsInitOperand(0)).isIdentity() ||
      producer.payloadUsesValueFromOperand(producer.getDpsInitOperand(0)) ||
      !producer.getOps<linalg::IndexOp>().empty())
    return {};
  return capturesOnlyConstants(producer) ? producer : linalg::GenericOp();
}

/// An argument of the kernel that the scatter reads, with the map from the loops of the source to its indices.
struct Read {
  Value argument;
  AffineMap map;
};

/// Returns the arguments from which the source rows are computed, and then the index tensors. Returns an empty vector
/// if the scatter reads other values.
SmallVector<Read> readsOf(tile::ScatterOp op) {
  SmallVector<Read> reads;
  const auto rank = unsigned(cast<ShapedType>(op.getInputs()[0].getType()).getRank());
  if (linalg::GenericOp producer = producerOf(op))
    for (OpOperand *operand : producer.getDpsInputOperands())
      reads.push_back({operand->get(), producer.getMatchingIndexingMap(operand)});
  else
    reads.push_back({op.getInputs()[0], AffineMap::getMultiDimIdentityMap(rank, op.getContext())});
  for (auto [index, map] : llvm::zip_equal(op.getInputs().drop_front(), op.getIndexMaps()))
    reads.push_back({index, cast<AffineMapAttr>(map).getValue()});
  const bool onlyArguments = llvm::all_of(reads, [](const Read &read) {
    return isa<BlockArgument>(read.argument) && isa<RankedTensorType>(read.argument.getType());
  });
  return onlyArguments ? reads : SmallVector<Read>();
}

/// Returns the loop to split and the number of parts, which is 1 if the scatter is not split. Each part has at least
/// `leastRows` source rows. There are at most `warpsWanted` warps for each multiprocessor.
Parts partsOf(func::FuncOp kernel, const ScatterRows &rows, const Arch &arch) {
  constexpr int64_t leastRows = 32, leastParts = 4, warpsWanted = 16, elementsOfWarp = 1024;
  tile::ScatterOp op = rows.op;
  auto source = cast<ShapedType>(op.getInputs()[0].getType()), old = cast<ShapedType>(op.getOutputs()[0].getType());
  Type type = old.getElementType();
  if (op.getKind() != tile::ScatterKind::Add || type.isInteger(1) || // the sums of bf16 and f16 are f32

      !sizesAreKnown(kernel) || !rows.batch.empty())
    return {};
  const SmallVector<Read> reads = readsOf(op);
  if (reads.empty())
    return {};
  int64_t length = 1, warps = 1, sourceRows = 1;
  for (unsigned dim : rows.direct)
    length *= old.getDimSize(dim);
  for (unsigned dim : rows.searched)
    warps *= old.getDimSize(dim);
  for (unsigned loop : rows.free)
    sourceRows *= source.getDimSize(loop);
  warps *= int64_t(llvm::divideCeil(length, elementsOfWarp));
  const int64_t most =
      std::min(warpsWanted * arch.multiprocessors / std::max<int64_t>(warps, 1), sourceRows / leastRows);
  Parts best;
  for (unsigned loop : rows.free) {
    if (!llvm::all_of(reads, [&](const Read &read) { return dimensionOf(read.map, loop).has_value(); }))
      continue;
    const int64_t extent = source.getDimSize(loop);
    int64_t parts = std::min(most, extent);
    while (parts > 1 && extent % parts != 0)
      --parts;
    if (parts >= leastParts && parts > best.number)
      best = {loop, parts};
  }
  return best;
}

class SplitScatter {
public:
  SplitScatter(func::FuncOp kernel, tile::ScatterOp op, Parts parts)
      : op(op), parts(parts), sum(kernel, op, parts.number, "scatter"), reads(readsOf(op)),
        loops(op.getDestMap().getNumDims()), part(getAffineDimExpr(parts.loop, op.getContext())) {
    // Loop `parts.loop` becomes the loops of the part and of the source row in the part.
    for (unsigned loop = 0; loop < loops; ++loop)
      moved.push_back(getAffineDimExpr(loop < parts.loop ? loop : loop + 1, op.getContext()));
  }

  void run(ModuleOp module, SymbolTable &symbols) {
    Location loc = op.getLoc();
    for (const Read &read : reads)
      sum.addOperand(read.argument, *dimensionOf(read.map, parts.loop));
    OpBuilder builder(op);
    func::FuncOp made = sum.makeKernel(builder);
    Block *body = &made.getBody().front();
    const auto operands = ValueRange(body->getArguments().drop_back());
    Value destination = body->getArguments().back();
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(getElementTypeOrSelf(destination)));
    Value zeros = linalg::FillOp::create(builder, loc, zero, destination).getResult(0);
    const size_t sources = operands.size() - op.getIndexMaps().size();
    SmallVector<Value> inputs{sourceOf(builder, operands.take_front(sources))};
    llvm::append_range(inputs, operands.drop_front(sources));
    SmallVector<AffineMap> indexMaps;
    for (const Read &read : ArrayRef<Read>(reads).drop_front(sources))
      indexMaps.push_back(mapOf(read));
    auto ofParts = tile::ScatterOp::create(builder, loc, destination.getType(), inputs, zeros,
                                           builder.getAffineMapArrayAttr(indexMaps), destinationMap(), op.getKind());
    ofParts->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    func::ReturnOp::create(builder, loc, ofParts->getResult(0));
    symbols.insert(made);
    Operation *producer = producerOf(op);
    sum.replaceOp(op.getOutputs()[0], [&](OpBuilder &inner, Value all, Value each) {
      return combineScattered(inner, loc, tile::ScatterKind::Add, all, each);
    });
    if (producer)
      producer->erase();
    sum.rewriteCalls(module, made);
  }

private:
  /// Returns the map from the loops of the parts to the indices of the view of a kernel's argument.
  AffineMap mapOf(const Read &read) {
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : read.map.getResults()) {
      if (expr == part)
        exprs.push_back(part);
      exprs.push_back(expr.replaceDims(moved));
    }
    return AffineMap::get(loops + 1, 0, exprs, op.getContext());
  }

  AffineMap destinationMap() {
    SmallVector<AffineExpr> inWhole(moved), exprs{part};
    const int64_t length = cast<ShapedType>(op.getInputs()[0].getType()).getDimSize(parts.loop) / parts.number;
    inWhole[parts.loop] = part * length + moved[parts.loop];
    for (AffineExpr expr : op.getDestMap().getResults())
      exprs.push_back(expr.replaceDims(inWhole));
    return AffineMap::get(loops + 1, op.getDestMap().getNumSymbols(), exprs, op.getContext());
  }

  /// Returns the source rows in parts, computed from the views `from`.
  Value sourceOf(OpBuilder &builder, ValueRange from) {
    linalg::GenericOp producer = producerOf(op);
    if (!producer)
      return from.front();
    auto whole = cast<RankedTensorType>(op.getInputs()[0].getType());
    SmallVector<int64_t> shape(whole.getShape());
    shape[parts.loop] /= parts.number;
    shape.insert(shape.begin() + parts.loop, parts.number);
    SmallVector<AffineMap> maps;
    for (const Read &read : ArrayRef<Read>(reads).take_front(from.size()))
      maps.push_back(mapOf(read));
    maps.push_back(builder.getMultiDimIdentityMap(loops + 1));
    Value empty = tensor::EmptyOp::create(builder, op.getLoc(), shape, whole.getElementType());
    auto source = linalg::GenericOp::create(builder, op.getLoc(), empty.getType(), from, empty, maps,
                                            SmallVector<utils::IteratorType>(loops + 1, utils::IteratorType::parallel),
                                            [&](OpBuilder &inner, Location at, ValueRange values) {
                                              linalg::YieldOp::create(inner, at, cloneBodyOf(inner, producer, values));
                                            });
    source->setDiscardableAttrs(producer->getDiscardableAttrDictionary());
    return source.getResult(0);
  }

  tile::ScatterOp op;
  Parts parts;
  SumOfParts sum;
  SmallVector<Read> reads;
  unsigned loops;
  AffineExpr part;
  SmallVector<AffineExpr> moved; ///< for each loop of `op`, the loop of the parts
};

} // namespace

void splitScatters(ModuleOp module, const Arch &arch) {
  SymbolTable symbols(module);
  for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!kernel->hasAttr(kernelAttrName) || kernel.isExternal() || kernel->hasAttr(scheduleAttrName))
      continue;
    std::string reason;
    if (std::optional<ScatterRows> rows = matchScatterRows(kernel, reason))
      if (Parts parts = partsOf(kernel, *rows, arch); parts.number > 1)
        SplitScatter(kernel, rows->op, parts).run(module, symbols);
  }
}

} // namespace tilewright::gpu
