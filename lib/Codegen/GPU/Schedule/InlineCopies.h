//===- InlineCopies.h - compute padded operands of windowed kernels where they are read ----===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_INLINECOPIES_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_INLINECOPIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Moves kernels that only copy elements, such as a padding, into the windowed kernels that read their results, if
/// `readsElements` returns true for the windowed kernel, that is, if the kernel's schedule is `elements`.
void inlineCopies(mlir::ModuleOp module, llvm::function_ref<bool(mlir::func::FuncOp)> readsElements);

} // namespace tilewright::gpu

#endif
