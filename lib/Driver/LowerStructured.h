//===- LowerStructured.h - from the structured stage to code ---------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_LOWERSTRUCTURED_H
#define TILEWRIGHT_LIB_DRIVER_LOWERSTRUCTURED_H

#include "tilewright/Target.h"

namespace tilewright {

/// Runs the stage tiled, or all stages from tiled to target, on `module`. Errors contain the diagnostics.
llvm::Error lowerStructured(mlir::ModuleOp module, Target &target, const Options &options, bool onlyTiled = false);

} // namespace tilewright

#endif
