//===- ComputeOnce.h - compute values of parameters once per version ------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_COMPUTEONCE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_COMPUTEONCE_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Marks the calls of kernels in @main that depend only on parameters (tw.once). The runtime executes them again only
/// if a parameter has changed.
void computeOnce(mlir::ModuleOp module);

} // namespace tilewright::gpu

#endif
