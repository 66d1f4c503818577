//===- FixedValues.cpp - values that are the same at every call -------------------------===//
#include "lib/Kernels/FixedValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright::structured {

/// Adds to `waiting` the values that must be fixed for `value` to be fixed. Returns false if `value` cannot be fixed.
static bool follows(Value value, SmallVectorImpl<Value> &waiting) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), staticAttrName);
  }
  Operation *op = value.getDefiningOp();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    llvm::append_range(waiting, linalgOp.getDpsInputs());
    return linalgOp.getNumDpsInputs() > 0 && llvm::none_of(linalgOp->getRegion(0).getOps(), [](Operation &inner) {
             return isa<tensor::ExtractOp>(inner);
           });
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    waiting.push_back(op->getOperand(0));
  return isa<arith::ConstantOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

bool isFixed(Value value) {
  // Each value is visited once. In a recurrence that reads its last two values, the number of paths is exponential.
  SmallVector<Value> waiting{value};
  DenseSet<Value> seen;
  while (!waiting.empty()) {
    Value next = waiting.pop_back_val();
    if (seen.insert(next).second && !follows(next, waiting))
      return false;
  }
  return true;
}

} // namespace tilewright::structured
