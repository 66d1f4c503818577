//===- Pipelines.cpp - the whole compiler on one page -----------------------===//
#include "tilewright/Pipelines.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/PlanDialect.h"
#include "dialects/Tile/Tile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "tilewright/Passes.h"

namespace tilewright {

void registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<graph::TWDialect, tile::TileDialect, plan::PlanDialect>();
  tile::registerBufferizableOpInterfaceExternalModels(registry);
}

void registerAllPasses() {
  mlir::registerAllPasses();
  registerTilewrightPasses();
}

} // namespace tilewright
