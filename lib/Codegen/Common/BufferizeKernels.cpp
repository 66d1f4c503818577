//===- BufferizeKernels.cpp - kernels on memrefs --------------------------------===//
//
// Before:
//   func @kernel_0(%n: index, %a: tensor<?x768xf32>, %out: tensor<?x768xf32>) -> tensor<?x768xf32> {
//     %r = scf.forall ... shared_outs(%o = %out) ...
//     return %r }
// After:
//   func @kernel_0(%n: index, %a: memref<?x768xf32>, %out: memref<?x768xf32>) {
//     scf.forall ... { linalg.generic ins(subview %a) outs(subview %out) }
//     return }
//
// Every tensor argument becomes a dense memref. The pass assumes that no other argument uses the memory of this memref.
// If --tw-mark-in-place permits that a result uses the memory of an operand, this assumption does not change the
// result. If a result was computed in place in an argument, the argument's memory contains the result. Other results (a
// slice or a padded tensor) are copied to their argument. Allocations that remain inside of a tiled loop have the size
// of a tile.
//
// Test: test/Codegen/Common/bufferize-kernels.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_BUFFERIZEKERNELS
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

/// Expands each tensor.pad that has a constant padding value and whose result the kernel returns. The expansion fills
/// the destination with this value and inserts the source.
void expandPads(func::FuncOp kernel) {
  SmallVector<tensor::PadOp> pads;
  kernel.walk([&](tensor::PadOp pad) { pads.push_back(pad); });
  IRRewriter rewriter(kernel.getContext());
  for (tensor::PadOp pad : pads) {
    rewriter.setInsertionPoint(pad);
    Value value = pad.getConstantPaddingValue();
    // If the kernel returns the result of the pad, the destination is the argument of this result.
    Value destination;
    for (OpOperand &use : pad->getUses())
      if (isa<func::ReturnOp>(use.getOwner()))
        destination = kernel.getArgument(kernel.getNumArguments() - kernel.getNumResults() + use.getOperandNumber());
    if (!value || !destination)
      continue;
    auto fill = linalg::FillOp::create(rewriter, pad.getLoc(), value, destination);
    SmallVector<OpFoldResult> sizes, strides(pad.getType().getRank(), rewriter.getIndexAttr(1));
    for (int64_t dim = 0; dim < pad.getType().getRank(); ++dim)
      sizes.push_back(tensor::getMixedSize(rewriter, pad.getLoc(), pad.getSource(), dim));
    rewriter.replaceOpWithNewOp<tensor::InsertSliceOp>(pad, pad.getSource(), fill.getResult(0), pad.getMixedLowPad(),
                                                       sizes, strides);
  }
}

/// Converts tensor arguments to memrefs, and stores results into their destination arguments.
void passByMemory(func::FuncOp kernel) {
  OpBuilder builder(kernel.getContext());
  Block &body = kernel.getBody().front();
  unsigned results = kernel.getNumResults();
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> memory(kernel.getNumArguments());
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    auto memref = MemRefType::get(type.getShape(), type.getElementType());
    argument.setType(memref);
    bool isOutput = argument.getArgNumber() >= kernel.getNumArguments() - results;
    auto tensor = bufferization::ToTensorOp::create(builder, argument.getLoc(), type, argument, /*restrict=*/true,
                                                    /*writable=*/isOutput);
    argument.replaceAllUsesExcept(tensor, tensor);
    memory[argument.getArgNumber()] = argument;
  }
  auto terminator = cast<func::ReturnOp>(body.getTerminator());
  builder.setInsertionPoint(terminator);
  for (auto [index, value] : llvm::enumerate(terminator.getOperands()))
    bufferization::MaterializeInDestinationOp::create(builder, terminator.getLoc(), Type(), value,
                                                      memory[kernel.getNumArguments() - results + index],
                                                      /*restrict=*/true, /*writable=*/true);
  terminator->setOperands({});
  kernel.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), {}));
}

/// Returns true if `value` is a bufferization.to_tensor, which passByMemory() has created for an argument, or a slice
/// or reshape of such a tensor.
bool isArgument(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<bufferization::ToTensorOp>(op))
      return true;
    if (!isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

bool isSameSlice(OffsetSizeAndStrideOpInterface a, OffsetSizeAndStrideOpInterface b) {
  return a.isSameAs(b, [](OpFoldResult x, OpFoldResult y) { return x == y; });
}

/// Creates the view of `buffer` that corresponds to `slice`, a slice of a tensor that is stored in `buffer`. The view
/// has the shape `shape`.
Value createView(OpBuilder &builder, Value buffer, OffsetSizeAndStrideOpInterface slice, ArrayRef<int64_t> shape) {
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(), sizes = slice.getMixedSizes(),
                            strides = slice.getMixedStrides();
  auto type =
      memref::SubViewOp::inferRankReducedResultType(shape, cast<MemRefType>(buffer.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(builder, slice.getLoc(), type, buffer, offsets, sizes, strides);
}

/// Returns the linalg op that computes the source of `insert` if the output of this op is the slice of the destination
/// into which `insert` writes. Otherwise returns null.
linalg::LinalgOp computedInPlace(tensor::InsertSliceOp insert) {
  auto producer = insert.getSource().getDefiningOp<linalg::LinalgOp>();
  if (!producer || !producer->hasOneUse() || producer.getNumDpsInits() != 1)
    return {};
  auto part = producer.getDpsInits()[0].getDefiningOp<tensor::ExtractSliceOp>();
  return part && part->hasOneUse() && part.getSource() == insert.getDest() &&
                 part.getType() == insert.getSourceType() && isSameSlice(part, insert)
             ? producer
             : linalg::LinalgOp();
}

/// Returns the chain of insertions that computes `value`, in order, and the tensor into which the first of them
/// inserts. Each result in the chain is used only by the next insertion and, if a linalg op computes the source of that
/// insertion in place, by the slice into which this op computes. Each source is an argument or computed in place.
/// Returns an empty chain if these conditions do not hold, or if there are fewer than `many` insertions.
std::pair<SmallVector<tensor::InsertSliceOp>, Value> chainOf(Value value) {
  constexpr size_t many = 8;
  SmallVector<tensor::InsertSliceOp> chain;
  tensor::InsertSliceOp next;
  while (auto insert = value.getDefiningOp<tensor::InsertSliceOp>()) {
    const unsigned uses = next && computedInPlace(next) ? 2 : 1;
    if (!insert.getResult().hasNUses(uses) || !(isArgument(insert.getSource()) || computedInPlace(insert)))
      return {};
    chain.push_back(next = insert);
    value = insert.getDest();
  }
  if (chain.size() < many)
    return {};
  std::reverse(chain.begin(), chain.end());
  return {chain, value};
}

/// Writes the inserted slices of the chain into `whole`, and erases the chain.
void writeChain(ArrayRef<tensor::InsertSliceOp> chain, Value whole) {
  IRRewriter rewriter(whole.getContext());
  for (tensor::InsertSliceOp insert : chain) {
    linalg::LinalgOp producer = computedInPlace(insert);
    rewriter.setInsertionPoint(producer ? producer.getOperation() : insert);
    Value part = createView(rewriter, whole, insert, insert.getSourceType().getShape());
    if (producer) {
      auto init = producer.getDpsInits()[0].getDefiningOp<tensor::ExtractSliceOp>();
      rewriter.replaceOpWithNewOp<bufferization::ToTensorOp>(init, init.getType(), part, /*restrict=*/true,
                                                             /*writable=*/true);
    }
    rewriter.setInsertionPoint(insert);
    bufferization::MaterializeInDestinationOp::create(rewriter, insert.getLoc(), Type(), insert.getSource(), part,
                                                      /*restrict=*/true, /*writable=*/true);
  }
  for (tensor::InsertSliceOp insert : llvm::reverse(chain))
    rewriter.eraseOp(insert);
}

/// Applies writeChain() in a parallel loop whose only result is a chain of insertions, which `materialize` stores into
/// the loop's initial memory. Changes nothing if the loop has another form.
void insertByMemory(scf::ForallOp loop, bufferization::MaterializeInDestinationOp materialize) {
  auto initial = loop.getOutputs().size() == 1 ? loop.getOutputs()[0].getDefiningOp<bufferization::ToTensorOp>()
                                               : bufferization::ToTensorOp();
  if (!initial || initial.getBuffer() != materialize.getDest() || !loop->hasOneUse())
    return;
  auto last = dyn_cast<tensor::ParallelInsertSliceOp>(loop.getTerminator().getBody()->front());
  if (!last)
    return;
  auto [chain, base] = chainOf(last.getSource());
  auto tile = base ? base.getDefiningOp<tensor::ExtractSliceOp>() : tensor::ExtractSliceOp();
  if (!tile || tile.getSource() != loop.getRegionIterArgs()[0] || tile.getType() != last.getSourceType() ||
      !tile.getSource().hasNUses(2) || !isSameSlice(tile, last))
    return;
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(tile);
  Value whole = createView(rewriter, initial.getBuffer(), tile, tile.getType().getShape());
  rewriter.eraseOp(last);
  writeChain(chain, whole);
  rewriter.eraseOp(tile);
  rewriter.eraseOp(materialize);
  // Create the loop without its result.
  rewriter.setInsertionPoint(loop);
  auto bare = scf::ForallOp::create(rewriter, loop.getLoc(), loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                                    loop.getMixedStep(), ValueRange(), loop.getMapping());
  bare->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  loop.getBody()->getTerminator()->erase();
  bare.getBody()->getTerminator()->moveBefore(loop.getBody(), loop.getBody()->end());
  for (auto [old, now] : llvm::zip(loop.getInductionVars(), bare.getInductionVars()))
    rewriter.replaceAllUsesWith(old, now);
  bare.getBody()->getOperations().splice(bare.getBody()->end(), loop.getBody()->getOperations());
  rewriter.eraseOp(loop);
}

/// Rewrites a concatenation of many parts, which is a chain of insertions into an argument that the kernel returns.
/// Each part is copied to, or computed in, its slice of the argument's memory. Otherwise, the analysis of One-Shot
/// Bufferize would compare each insertion with all other insertions, which is slow for hundreds of parts.
///
/// Before:  %1 = tensor.insert_slice %a into %out[0, 0] ...; %2 = tensor.insert_slice %b into %1[1, 0] ...; return %2
/// After:   materialize %a in subview %out[0, 0]; materialize %b in subview %out[1, 0]
///
/// The same rewrite applies in a parallel loop (TileInserts.cpp), where %out is a tile of the argument.
void insertByMemory(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  for (auto materialize : llvm::make_early_inc_range(body.getOps<bufferization::MaterializeInDestinationOp>())) {
    if (auto loop = materialize.getSource().getDefiningOp<scf::ForallOp>()) {
      insertByMemory(loop, materialize);
      continue;
    }
    auto [chain, base] = chainOf(materialize.getSource());
    auto whole = base ? base.getDefiningOp<bufferization::ToTensorOp>() : bufferization::ToTensorOp();
    if (!whole || whole.getBuffer() != materialize.getDest())
      continue;
    materialize.erase();
    writeChain(chain, whole.getBuffer());
  }
}

struct BufferizeKernels : impl::BufferizeKernelsBase<BufferizeKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(kernelAttrName))
        kernels.push_back(function);
    bufferization::OneShotBufferizationOptions options;
    options.setFunctionBoundaryTypeConversion(bufferization::LayoutMapOption::IdentityLayoutMap);
    options.bufferAlignment = 64;
    options.memCpyFn = [](OpBuilder &builder, Location loc, Value from, Value to) {
      linalg::CopyOp::create(builder, loc, from, to);
      return success();
    };
    for (func::FuncOp kernel : kernels) {
      expandPads(kernel);
      passByMemory(kernel);
      insertByMemory(kernel);
      bufferization::BufferizationState state;
      if (failed(bufferization::runOneShotBufferize(kernel, options, state))) {
        kernel.emitOpError("cannot be bufferized");
        return signalPassFailure();
      }
    }
  }
};
} // namespace
} // namespace vector_stage
} // namespace tilewright
