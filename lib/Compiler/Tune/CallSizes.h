//===- CallSizes.h - values of a model's symbolic sizes -------------------------------------------===//
//
// Test: test/Tuner/size-classes.test
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_TUNE_CALLSIZES_H
#define TILEWRIGHT_LIB_COMPILER_TUNE_CALLSIZES_H

#include "lib/Compiler/Tune/KernelModules.h"
#include "lib/Tuner/SizeClasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {

/// `expr` with `symbols` filled in; nothing where it is no constant then, or negative.
std::optional<int64_t> evaluateSize(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> symbols);

/// What `main` was compiled for, of each of its symbolic sizes.
std::vector<tuner::SizeRange> sizeRanges(mlir::func::FuncOp main);

/// `given` for the symbolic sizes of `main`, within their ranges; 8 where none is given.
std::vector<int64_t> sizesOfCall(mlir::func::FuncOp main, llvm::ArrayRef<int64_t> given);

/// The sizes that a model is tuned at: `given`, then one list for each other class that its ranges have. One empty list
/// where it has no symbolic sizes.
std::vector<std::vector<int64_t>> sizesToTuneAt(mlir::func::FuncOp main, llvm::ArrayRef<int64_t> given);

/// The class of a call of `kernel` when the model's symbolic sizes are `sizes`; nothing for a kernel that has none.
std::optional<tuner::SizeClass> sizeClassOfKernel(const KernelModule &kernel, llvm::ArrayRef<int64_t> sizes);

} // namespace tilewright

#endif
