//===- JoinPadding.h - convolutions that read images without padding in memory -------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_JOINPADDING_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_JOINPADDING_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Fuses kernels that pad an image, or copy the patches that the gradient of a weight reads, with products that can
/// have the schedule `wgmma`, and sets this schedule.
void joinPadding(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
