//===- FixedValues.h - values that are the same at every call ---------------------------===//
#ifndef TILEWRIGHT_LIB_KERNELS_FIXEDVALUES_H
#define TILEWRIGHT_LIB_KERNELS_FIXEDVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright::structured {

/// The fixed values of a function: parameters, constants, and values that linalg ops (except gathers) and reshapes
/// compute only from these. A kernel that computes only fixed values runs once (--tw-resolve-layouts).
///
/// The constructor visits each op of the function once. A separate search for each queried value would take quadratic
/// time in a deep network.
class FixedValues {
public:
  explicit FixedValues(mlir::func::FuncOp function);

  bool contains(mlir::Value value) const { return fixed.contains(value); }

  /// Determines again whether the results of `op` are fixed. A pass calls this function for each op that it creates, in
  /// the order of the block, after the op has its operands and its body.
  void update(mlir::Operation *op);

private:
  llvm::DenseSet<mlir::Value> fixed;
};

} // namespace tilewright::structured

#endif
