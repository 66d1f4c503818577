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
// Every tensor argument becomes a dense memref that nothing else aliases; a result is the argument it was computed
// into, or is copied there (a kernel that returns a slice or a padded tensor). Allocations left are tile-sized.
//
// Test: test/Vector/bufferize-kernels.mlir
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
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_BUFFERIZEKERNELS
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

/// tensor.pad inside a kernel: fill the destination, insert the source.
void expandPads(func::FuncOp kernel) {
  SmallVector<tensor::PadOp> pads;
  kernel.walk([&](tensor::PadOp pad) { pads.push_back(pad); });
  IRRewriter rewriter(kernel.getContext());
  for (tensor::PadOp pad : pads) {
    rewriter.setInsertionPoint(pad);
    Value value = pad.getConstantPaddingValue();
    // The destination: the kernel's last argument when the pad is what the kernel returns.
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

/// Tensor arguments become memrefs, results leave through their destination arguments.
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

/// Whether `value` is an argument, or a part or reshape of one.
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

/// A concatenation of many parts: what is inserted, one after the other, into an argument that the kernel returns, is
/// copied there. The analysis of one-shot bufferization compares each insertion with all others, of 400 parts for
/// minutes.
///
/// Before:  %1 = tensor.insert_slice %a into %out[0, 0] ...; %2 = tensor.insert_slice %b into %1[1, 0] ...; return %2
/// After:   materialize %a in subview %out[0, 0]; materialize %b in subview %out[1, 0]
void insertByMemory(func::FuncOp kernel) {
  constexpr size_t many = 8;
  Block &body = kernel.getBody().front();
  IRRewriter rewriter(kernel.getContext());
  for (auto materialize : llvm::make_early_inc_range(body.getOps<bufferization::MaterializeInDestinationOp>())) {
    SmallVector<tensor::InsertSliceOp> chain; // the last first
    Value value = materialize.getSource();
    while (auto insert = value.getDefiningOp<tensor::InsertSliceOp>()) {
      if (!insert->hasOneUse() || !isArgument(insert.getSource()))
        break;
      chain.push_back(insert);
      value = insert.getDest();
    }
    auto whole = value.getDefiningOp<bufferization::ToTensorOp>();
    if (chain.size() < many || !whole || whole.getBuffer() != materialize.getDest())
      continue;
    rewriter.setInsertionPoint(materialize);
    for (tensor::InsertSliceOp insert : llvm::reverse(chain)) {
      auto type = memref::SubViewOp::inferRankReducedResultType(
          insert.getSourceType().getShape(), cast<MemRefType>(whole.getBuffer().getType()), insert.getMixedOffsets(),
          insert.getMixedSizes(), insert.getMixedStrides());
      Value part =
          memref::SubViewOp::create(rewriter, insert.getLoc(), type, whole.getBuffer(), insert.getMixedOffsets(),
                                    insert.getMixedSizes(), insert.getMixedStrides());
      bufferization::MaterializeInDestinationOp::create(rewriter, insert.getLoc(), Type(), insert.getSource(), part,
                                                        /*restrict=*/true, /*writable=*/true);
    }
    rewriter.eraseOp(materialize);
    for (tensor::InsertSliceOp insert : chain)
      rewriter.eraseOp(insert);
  }
}

struct BufferizeKernels : impl::BufferizeKernelsBase<BufferizeKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("tw.kernel"))
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
