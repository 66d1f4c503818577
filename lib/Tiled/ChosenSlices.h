//===- ChosenSlices.h - operands that are slices chosen from a parameter ------===//
//
// A mixture of experts multiplies by the matrices its router chose. A kernel that does nothing but choose them need not
// run: the product takes the whole table, which is packed once, and the numbers of the slices (docs/decisions/0020).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TILED_CHOSENSLICES_H
#define TILEWRIGHT_LIB_TILED_CHOSENSLICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::tiled {

/// What a kernel does that chooses whole slices of a table along one dimension.
struct Choice {
  unsigned table = 0, numbers = 0;               ///< which arguments they are
  llvm::SmallVector<int64_t> places;             ///< where dimension i of the result lies in the table
  bool fromEnd = false;                          ///< negative numbers count from the end
  mlir::RankedTensorType tableType, numbersType; ///< as the callers pass them
};

/// The choice that all `calls` of a kernel have made for their operand `argument`, and for it alone, of a table that
/// `isStatic`.
std::optional<Choice> choiceBehind(llvm::ArrayRef<mlir::func::CallOp> calls, unsigned argument,
                                   llvm::function_ref<bool(mlir::Value)> isStatic);

/// Has `kernel` take the table in the place of `argument`, and the numbers behind it. Its `calls` no longer call those
/// who chose; these are returned, and may be without callers now.
llvm::SmallVector<mlir::func::FuncOp> takeTable(mlir::func::FuncOp kernel, llvm::ArrayRef<mlir::func::CallOp> calls,
                                                mlir::BlockArgument argument, const Choice &choice);

} // namespace tilewright::tiled

#endif
