//===- RegisterAll.cpp - dialects, passes and pipelines of all stages ----------------===//
#include "dialects/Graph/Graph.h"
#include "dialects/HLS/HLS.h"
#include "dialects/Plan/PlanDialect.h"
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Schedule/GpuSchedule.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "tilewright/Passes.h"
#include "tilewright/Pipelines.h"

using namespace mlir;

namespace tilewright {

ArrayRef<llvm::StringLiteral> stageNames() {
  static constexpr llvm::StringLiteral names[] = {"graph", "structured", "tiled", "vector", "target"};
  return names;
}

void registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<graph::TWDialect, tile::TileDialect, plan::PlanDialect, hls::HLSDialect, schedule::CpuScheduleDialect,
                  schedule::GpuScheduleDialect>();
  tile::registerBufferizableOpInterfaceExternalModels(registry);
}

void registerAllPasses() {
  mlir::registerAllPasses();
  registerTilewrightPasses();
  PassPipelineRegistration<>("tw-stage-graph", "Stage 1: graph", [](OpPassManager &pm) {
    pm.addNestedPass<func::FuncOp>(createGuardSizes());
    buildGraphStage(pm);
  });
  PassPipelineRegistration<>("tw-stage-structured", "Stage 2: structured",
                             [](OpPassManager &pm) { buildStructuredStage(pm); });
  PassPipelineRegistration<>("tw-stage-tiled", "Stage 3: tiled", [](OpPassManager &pm) { buildTiledStage(pm, {}); });
  PassPipelineRegistration<>("tw-stage-vector", "Stage 4: vector", [](OpPassManager &pm) { buildVectorStage(pm, {}); });
  PassPipelineRegistration<>("tw-stage-cpu", "Stage 5: target cpu", [](OpPassManager &pm) { buildCpuStage(pm, {}); });
}

} // namespace tilewright
