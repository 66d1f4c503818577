//===- JoinRows.h - fuse a norm with the product before it ----------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_JOINROWS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_JOINROWS_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Fuses kernels of `module` that reduce rows into the kernels of the products that compute these rows. A kernel is
/// fused if a block's tile can have whole rows and the cost model predicts less time. Sets the schedules of the fused
/// kernels.
void joinRows(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
