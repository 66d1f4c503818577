//===- SplitSums.h - long sums of few results, in parts -----------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_SPLITSUMS_H
#define TILEWRIGHT_LIB_TARGET_CUDA_SPLITSUMS_H

#include "lib/Target/CUDA/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// Cuts sums of products on tensor cores in parts, each a product of a batch, where the tiles of the result are too few
/// for the card: where the model says that the parts and the kernel that adds them up take less time than one kernel.
/// Kernels that have a schedule stay as they are.
void splitSums(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::cuda

#endif
