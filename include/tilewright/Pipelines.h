//===- Pipelines.h - the whole compiler, by stage ---------------------------===//
#ifndef TILEWRIGHT_PIPELINES_H
#define TILEWRIGHT_PIPELINES_H

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace tilewright {

/// All dialects of all stages with their interfaces; explicit, no static constructor.
void registerAllDialects(mlir::DialectRegistry &registry);

/// All passes (`--tw-...`) and the stage pipelines (`--tw-graph`, `--tw-structured`, ...).
void registerAllPasses();

} // namespace tilewright

#endif
