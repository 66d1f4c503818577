//===- OutlineKernels.h - clusters of @main become kernel functions ----------===//
#ifndef TILEWRIGHT_LIB_KERNELS_OUTLINEKERNELS_H
#define TILEWRIGHT_LIB_KERNELS_OUTLINEKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::structured {

/// Moves each cluster (members in reversed program order, anchor first) of `main` into a private function with the unit
/// attribute tw.kernel. The arguments of the function are the index values that it uses, its input tensors, and one
/// destination per result. Structurally equal kernels become one function. A slice that a kernel reads is cloned into
/// the kernel. With `readSlices`, dense slices stay in @main if one tensor has many of them, such as the steps of a
/// recurrence. The launches of the kernel then differ only in an offset.
llvm::LogicalResult outlineKernels(mlir::ModuleOp module, mlir::func::FuncOp main,
                                   llvm::ArrayRef<llvm::SmallVector<mlir::Operation *>> clusters, bool readSlices);

} // namespace tilewright::structured

#endif
