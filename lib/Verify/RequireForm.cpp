//===- RequireForm.cpp - checks the IR that a pass accepts -----------------------===//
//
// Tests: test/Verify/require-form.mlir, test/Conformance/passes
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
namespace {

/// Returns the dialects, separated by spaces, whose ops must not occur in IR of this form.
llvm::StringLiteral foreignDialects(IRForm form) {
  switch (form) {
  case IRForm::Graph:
    return " linalg tw_tile scf memref vector llvm nvvm tw_plan tw_hls cf ";
  case IRForm::Tensors:
    return " tw memref vector llvm nvvm tw_plan tw_hls cf ";
  case IRForm::Buffers:
    return " tw tensor nvvm cf "; // kernels already contain instructions as ops of llvm
  }
  llvm_unreachable("all forms are above");
}

llvm::StringLiteral describe(IRForm form) {
  switch (form) {
  case IRForm::Graph:
    return "a model's graph, of tw ops";
  case IRForm::Tensors:
    return "linalg and tw_tile ops on tensors, as the structured and tiled stages leave them";
  case IRForm::Buffers:
    return "kernels on memrefs, as the vector stage makes them";
  }
  llvm_unreachable("all forms are above");
}

/// Returns true if IR of this form must not contain values of `type`.
bool isForeignType(Type type, IRForm form) {
  return form == IRForm::Buffers ? isa<TensorType>(type) : isa<BaseMemRefType>(type);
}

/// Returns the first op of `function` that is not of `form`; null if there is none.
Operation *foreignOpIn(func::FuncOp function, IRForm form) {
  const llvm::StringLiteral dialects = foreignDialects(form);
  Operation *found = nullptr;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    const StringRef dialect = op->getName().getDialectNamespace();
    bool isForeign = dialects.contains((" " + dialect + " ").str());
    if (op == function)
      isForeign = llvm::any_of(function.getArgumentTypes(), [&](Type type) { return isForeignType(type, form); });
    else
      isForeign |= llvm::any_of(op->getResultTypes(), [&](Type type) { return isForeignType(type, form); });
    if (isForeign)
      found = op;
    return isForeign ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

} // namespace

LogicalResult requireForm(Operation *root, IRForm form, StringRef pass) {
  auto check = [&](func::FuncOp function) -> LogicalResult {
    Operation *foreignOp = function.isDeclaration() ? nullptr : foreignOpIn(function, form);
    if (!foreignOp)
      return success();
    return foreignOp->emitOpError() << "is not part of the input of --" << pass << ", which is " << describe(form)
                                    << "; check the stage after which the IR was saved";
  };
  if (auto function = dyn_cast<func::FuncOp>(root))
    return check(function);
  for (Operation &op : root->getRegion(0).front())
    if (auto function = dyn_cast<func::FuncOp>(op); function && (form != IRForm::Buffers || op.hasAttr(kernelAttrName)))
      if (failed(check(function)))
        return failure();
  return success();
}

} // namespace tilewright
