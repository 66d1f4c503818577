//===- InlineConcats.h - compute concatenations where they are read -------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_INLINECONCATS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_INLINECONCATS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Moves concatenations into the elementwise kernels that read them, and elementwise kernels into the concatenations
/// that read their results. `readsElements` returns true for a kernel whose schedule is `elements`.
void inlineConcats(mlir::ModuleOp module, llvm::function_ref<bool(mlir::func::FuncOp)> readsElements);

} // namespace tilewright::gpu

#endif
