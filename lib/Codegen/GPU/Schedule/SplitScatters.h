//===- SplitScatters.h - split scatters of many source rows to a small number of rows -------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITSCATTERS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITSCATTERS_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Splits scatters that add source rows to a number of rows that is too small to occupy the GPU. One kernel scatters
/// each part of the source rows to its own zeros, and a second kernel adds the parts. Kernels that already have a
/// schedule, and kernels with symbolic sizes, are unchanged.
void splitScatters(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
