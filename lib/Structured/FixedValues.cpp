//===- FixedValues.cpp - what is the same at every call -------------------------------===//
#include "lib/Structured/FixedValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::structured {

bool isFixed(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), "tw.static");
  }
  Operation *op = value.getDefiningOp();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumDpsInputs() > 0 &&
           llvm::all_of(linalgOp.getDpsInputs(), [](Value input) { return isFixed(input); }) &&
           llvm::none_of(linalgOp->getRegion(0).getOps(),
                         [](Operation &inner) { return isa<tensor::ExtractOp>(inner); });
  return isa<arith::ConstantOp>(op) ||
         (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) && isFixed(op->getOperand(0)));
}

} // namespace tilewright::structured
