//===- PairProducts.h - one kernel for two products whose results are combined --------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PAIRPRODUCTS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PAIRPRODUCTS_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Replaces two kernels of products, the second of which reads the result of the first in its epilogue, by one kernel
/// with the schedule `wgmma`. Both products must have the same first operand and the same sizes. Kernels are replaced
/// only if the cost model predicts less time for one kernel.
void pairProducts(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
