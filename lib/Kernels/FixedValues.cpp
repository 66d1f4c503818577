//===- FixedValues.cpp - values that are the same at every call -------------------------===//
#include "lib/Kernels/FixedValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::structured {

FixedValues::FixedValues(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), staticAttrName))
      fixed.insert(argument);
  for (Operation &op : function.getBody().getOps())
    update(&op);
}

void FixedValues::update(Operation *op) {
  auto computesFixedValues = [&] {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      return linalgOp.getNumDpsInputs() > 0 &&
             llvm::all_of(linalgOp.getDpsInputs(), [&](Value input) { return contains(input); }) &&
             llvm::none_of(linalgOp->getRegion(0).getOps(),
                           [](Operation &inner) { return isa<tensor::ExtractOp>(inner); });
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return contains(op->getOperand(0));
    return isa<arith::ConstantOp>(op);
  };
  const bool isFixed = computesFixedValues();
  for (Value result : op->getResults())
    if (isFixed)
      fixed.insert(result);
    else
      fixed.erase(result);
}

} // namespace tilewright::structured
