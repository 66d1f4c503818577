//===- AlignRows.h - copies of operands whose rows begin at multiples of 16 bytes ----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ALIGNROWS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ALIGNROWS_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Copies operands of large products to tensors with longer rows, if the products can then have the schedule `wgmma`,
/// and sets this schedule. Products that read the same operand read the same copy.
void alignRows(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
