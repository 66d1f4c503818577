//===- SplitChains.h - split kernels that reduce the results of another reduction -----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITCHAINS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITCHAINS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Splits kernels that reduce the results of another reduction and for which `computesElements` returns true: no
/// schedule computes both reductions together. The first kernel stores the values that the second kernel reduces.
/// Kernels with little work, with symbolic sizes or with a schedule are unchanged.
void splitChains(mlir::ModuleOp module, llvm::function_ref<bool(mlir::func::FuncOp)> computesElements);

} // namespace tilewright::gpu

#endif
