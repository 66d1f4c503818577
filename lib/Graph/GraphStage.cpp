//===- GraphStage.cpp - the passes of the graph stage ---------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/Passes.h"
#include "tilewright/Pipelines.h"

using namespace mlir;

namespace tilewright {

void buildGraphStage(OpPassManager &pm, KeyWorkers workers) {
  auto &function = pm.nest<func::FuncOp>();
  function.addPass(createCanonicalizerPass());
  function.addPass(createMatchQuantized());
  function.addPass(createNarrowSoftmax());
  function.addPass(createShareKeys());
  SplitKAttentionOptions keys;
  if (workers.threads > 0)
    keys.threads = workers.threads;
  keys.blocks = workers.blocks;
  function.addPass(createSplitKAttention(keys));
  function.addPass(createPropagateLayout());
  function.addPass(createSplitDepth());
  function.addPass(createCollapseViews());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
}

} // namespace tilewright
