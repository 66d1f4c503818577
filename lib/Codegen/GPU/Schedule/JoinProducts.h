//===- JoinProducts.h - one kernel for products that read the same operand ------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_JOINPRODUCTS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_JOINPRODUCTS_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Joins kernels of products that read the same first operand and do not depend on each other, if the cost model
/// predicts less time for one kernel. The joined kernels have a schedule `wgmma` and the attribute
/// `joinedResultsAttrName`.
void joinProducts(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
