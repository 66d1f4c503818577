//===- StructuredStage.cpp - the passes of the structured stage -----------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/Passes.h"
#include "tilewright/Pipelines.h"

using namespace mlir;

namespace tilewright {

void buildStructuredStage(OpPassManager &pm, bool keepRoundings, const KernelLimits &limits) {
  if (limits.scatterPoolGradients)
    pm.addNestedPass<func::FuncOp>(createScatterPoolGradients());
  pm.addNestedPass<func::FuncOp>(createRecordSizes());
  pm.addNestedPass<func::FuncOp>(
      createLowerGraph({limits.splitProducts, limits.tf32Convolutions, limits.attentionDelta}));
  pm.addNestedPass<func::FuncOp>(createDecomposeTile({/*wideAttentionOnly=*/true, !limits.fuseSingleAttention}));
  if (keepRoundings)
    pm.addPass(createKeepRoundings());
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createInlineElementwise());
  pm.addNestedPass<func::FuncOp>(createMakeContiguous());
  pm.addPass(createFormKernels({limits.mostProducts, limits.columnsToSpan, limits.readSlices, limits.computePieces}));
  pm.addPass(createMarkInPlace());
  pm.addPass(createVerifyStage({/*stage=*/"structured", /*dialects=*/{}}));
}

} // namespace tilewright
