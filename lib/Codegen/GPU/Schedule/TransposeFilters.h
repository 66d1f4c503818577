//===- TransposeFilters.h - filters that are contiguous along the channels, for wgmma ------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_TRANSPOSEFILTERS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_TRANSPOSEFILTERS_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Adds kernels that transpose the filters and channels of weights, for convolutions that can have the schedule `wgmma`
/// only if the channels of a filter are contiguous.
void transposeFilters(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
