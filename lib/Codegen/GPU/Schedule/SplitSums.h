//===- SplitSums.h - split long reductions with a small number of results into parts ------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITSUMS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITSUMS_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// Splits the reductions of products on tensor cores into parts, which form a batch of products. A reduction is split
/// if the result has too few tiles to occupy the card, and the cost model predicts less time for the parts and for the
/// kernel that adds them. Kernels that already have a schedule are unchanged.
void splitSums(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::cuda

#endif
