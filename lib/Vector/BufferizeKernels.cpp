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
