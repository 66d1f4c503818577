//===- FixedValues.h - values that are the same at every call ---------------------------===//
#ifndef TILEWRIGHT_LIB_KERNELS_FIXEDVALUES_H
#define TILEWRIGHT_LIB_KERNELS_FIXEDVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright::structured {

/// The fixed values of a function: parameters, constants and values that are computed from these alone. A kernel of
/// such values runs once (--tw-resolve-layouts).
///
/// The constructor visits each op of the function once. A search from each value that is asked for would take
/// quadratic time in a deep network.
class FixedValues {
public:
  explicit FixedValues(mlir::func::FuncOp function);

  bool contains(mlir::Value value) const { return fixed.contains(value); }

  /// Determines again whether the results of `op` are fixed. A pass calls it for each op that it creates, after the
  /// op's operands and body are complete and in the order of the block.
  void update(mlir::Operation *op);

private:
  llvm::DenseSet<mlir::Value> fixed;
};

} // namespace tilewright::structured

#endif
