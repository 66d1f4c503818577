//===- ChosenSlices.h - operands that are slices chosen from a parameter ------===//
//
// A mixture of experts multiplies by the matrices that its router has chosen. A kernel that only selects these matrices
// need not run: the product takes the whole table, which is packed once, and the indices of the slices
// (docs/decisions/0020).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CHOSENSLICES_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CHOSENSLICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::tiled {

/// Describes a kernel that selects whole slices of a table along one dimension.
struct Choice {
  unsigned table = 0, numbers = 0;               ///< argument numbers
  llvm::SmallVector<int64_t> dims;               ///< the dimension of the table for dimension i of the result
  bool fromEnd = false;                          ///< negative numbers count from the end
  mlir::RankedTensorType tableType, numbersType; ///< as the callers pass them
};

/// Returns the choice that produces operand `argument` in all `calls` of a kernel, if it is the same, the operand has
/// no other user, and the table satisfies `isStatic`.
std::optional<Choice> choiceOfArgument(llvm::ArrayRef<mlir::func::CallOp> calls, unsigned argument,
                                       llvm::function_ref<bool(mlir::Value)> isStatic);

/// Replaces `argument` of `kernel` by the table, and adds the numbers as the next argument. Its `calls` no longer
/// depend on the kernels that select slices. Returns these kernels, which may have no callers any more.
llvm::SmallVector<mlir::func::FuncOp> takeTable(mlir::func::FuncOp kernel, llvm::ArrayRef<mlir::func::CallOp> calls,
                                                mlir::BlockArgument argument, const Choice &choice);

} // namespace tilewright::tiled

#endif
