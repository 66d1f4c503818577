//===- ChosenSlices.h - operands that are slices chosen from a parameter ------===//
//
// In a mixture of experts, a product uses the weight matrices that a router has chosen. This code removes the kernel
// that only copies these matrices: the product then reads the whole table of matrices, which is packed once, and the
// indices of the chosen slices (docs/decisions/0020).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CHOSENSLICES_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CHOSENSLICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::tiled {

/// Describes a kernel that selects whole slices of a table along one dimension.
struct Choice {
  unsigned table = 0, numbers = 0;               ///< argument numbers of the table and of the slice indices
  llvm::SmallVector<int64_t> dims;               ///< dimension i of the result is dimension dims[i] of the table
  bool fromEnd = false;                          ///< negative slice indices count from the end
  mlir::RankedTensorType tableType, numbersType; ///< types of the arguments that the callers pass
};

/// Returns the choice that produces operand `argument` of `calls`, which all call one kernel. Returns std::nullopt
/// unless all calls have the same choice, the operand has no other user, and the table satisfies `isStatic`.
std::optional<Choice> choiceOfArgument(llvm::ArrayRef<mlir::func::CallOp> calls, unsigned argument,
                                       llvm::function_ref<bool(mlir::Value)> isStatic);

/// Replaces `argument` of `kernel` by the table, and inserts the slice indices as the next argument. The `calls` of
/// `kernel` pass the table and the indices, and the calls of the kernels that select slices are erased. Returns these
/// kernels, which may have no callers left.
llvm::SmallVector<mlir::func::FuncOp> takeTable(mlir::func::FuncOp kernel, llvm::ArrayRef<mlir::func::CallOp> calls,
                                                mlir::BlockArgument argument, const Choice &choice);

} // namespace tilewright::tiled

#endif
