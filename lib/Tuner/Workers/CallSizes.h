//===- CallSizes.h - values of a model's symbolic sizes -------------------------------------------===//
//
// Test: test/Tuner/size-classes.test
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WORKERS_CALLSIZES_H
#define TILEWRIGHT_LIB_TUNER_WORKERS_CALLSIZES_H

#include "lib/Tuner/SizeClasses.h"
#include "lib/Tuner/Workers/KernelModules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {

/// Returns `expr` with `symbols` substituted; nullopt if the result is not constant or is negative.
std::optional<int64_t> evaluateSize(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> symbols);

/// Returns the range of each symbolic size for which `main` was compiled.
std::vector<tuner::SizeRange> sizeRanges(mlir::func::FuncOp main);

/// Returns the values `given` for the symbolic sizes of `main`, with 8 for each missing value, clamped to the ranges of
/// the sizes.
std::vector<int64_t> sizesOfCall(mlir::func::FuncOp main, llvm::ArrayRef<int64_t> given);

/// Returns the lists of sizes at which a model is tuned: sizesOfCall(main, given), followed by one list for each other
/// class of sizes (lib/Tuner/SizeClasses.h) that contains sizes within the model's ranges. If the model has no symbolic
/// sizes, returns one empty list.
std::vector<std::vector<int64_t>> sizesToTuneAt(mlir::func::FuncOp main, llvm::ArrayRef<int64_t> given);

/// Returns the class of a call of `kernel` if the model's symbolic sizes are `sizes`; nullopt if the kernel has no
/// symbolic sizes or no separate module.
std::optional<tuner::SizeClass> sizeClassOfKernel(const KernelModule &kernel, llvm::ArrayRef<int64_t> sizes);

} // namespace tilewright

#endif
