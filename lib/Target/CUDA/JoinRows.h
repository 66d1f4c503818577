//===- JoinRows.h - a norm behind a product goes into the product's kernel ----------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_JOINROWS_H
#define TILEWRIGHT_LIB_TARGET_CUDA_JOINROWS_H

#include "lib/Target/CUDA/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// Joins kernels of `module` that reduce rows with those of the products that make the rows, where a block's tile can
/// have whole rows and the model expects less time. The joined kernels get their schedules.
void joinRows(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::cuda

#endif
