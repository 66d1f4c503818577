//===- SplitSums.h - split long reductions with a small number of results into parts ------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITSUMS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITSUMS_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Splits long reductions into parts if the kernel has too few blocks to occupy the GPU. One kernel computes the
/// parts, which form a batch, and a second kernel adds them. A product on tensor cores is split if the cost model
/// predicts at least 20% less time for the two kernels. For products with the schedule `fma` and for other reductions,
/// the decision depends on the numbers of blocks and terms. Kernels that already have a schedule are unchanged.
void splitSums(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
