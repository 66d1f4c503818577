//===- OutlineKernels.h - clusters of @main become kernel functions ----------===//
#ifndef TILEWRIGHT_LIB_STRUCTURED_OUTLINEKERNELS_H
#define TILEWRIGHT_LIB_STRUCTURED_OUTLINEKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::structured {

/// Moves each cluster (members in reversed program order, anchor first) of `main` into a private function with the
/// unit attribute tw.kernel. Arguments: the index values it uses, its input tensors, one destination per result.
/// Structurally equal kernels become one function. A slice that a kernel reads is repeated in it; with `readSlices`
/// dense ones stay in @main where there are many of one tensor, as the steps of a recurrence have: their kernels differ
/// in an offset alone.
llvm::LogicalResult outlineKernels(mlir::ModuleOp module, mlir::func::FuncOp main,
                                   llvm::ArrayRef<llvm::SmallVector<mlir::Operation *>> clusters, bool readSlices);

} // namespace tilewright::structured

#endif
