//===- KernelModules.cpp - a kernel of a model as a separate model -----------------------------===//
//
//   @main(%x, %w {tw.static}) {                    @main(%w {tw.static}, %a) {
//     %a = call @kernel_0(%x)                        %b = call @kernel_1(%a, %w)
//     %b = call @kernel_1(%a, %w)            ->      return %b }
//     return %b }
//
// Test: test/Tuner/tune.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Workers/KernelModules.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Views.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright {
namespace {

/// Returns true if `value` is a parameter or a view of one.
bool isParameter(Value value, func::FuncOp main) {
  auto argument = dyn_cast<BlockArgument>(tile::viewedValue(value));
  return argument && main.getArgAttr(argument.getArgNumber(), graph::staticAttrName);
}

/// Returns true for values that are recreated in the separate module: sizes, memory for results, and constants.
bool isMadeAnew(Value value) {
  return !isa<RankedTensorType>(value.getType()) || value.getDefiningOp<tensor::EmptyOp>() ||
         value.getDefiningOp<arith::ConstantOp>();
}

/// Reduces @main to one call of `kernel` with its operands as arguments. Returns false if an operand's size is unknown.
bool reduceToCall(func::FuncOp main, StringRef kernel) {
  Block &body = main.getBody().front();
  func::CallOp call;
  for (auto candidate : body.getOps<func::CallOp>())
    if (candidate.getCallee() == kernel && !call)
      call = candidate;
  const unsigned symbols = tile::indexArguments(main).size();
  llvm::MapVector<Value, Value> given;
  for (Value operand : call.getOperands()) {
    if (isMadeAnew(operand) || isa<BlockArgument>(operand) || given.count(operand))
      continue;
    SmallVector<AffineExpr> known = tile::sizesOf(operand);
    if (int64_t(known.size()) != cast<RankedTensorType>(operand.getType()).getRank())
      return false;
    AffineMap sizes = AffineMap::get(0, symbols, known, main.getContext());
    const bool parameter = isParameter(operand, main);
    const unsigned position = main.getNumArguments();
    if (failed(main.insertArgument(position, operand.getType(), {}, call.getLoc())))
      return false;
    main.setArgAttr(position, tile::sizesAttrName, AffineMapAttr::get(sizes));
    if (parameter)
      main.setArgAttr(position, graph::staticAttrName, UnitAttr::get(main.getContext()));
    given[operand] = main.getArgument(position);
  }
  for (OpOperand &operand : call->getOpOperands())
    if (Value argument = given.lookup(operand.get()))
      operand.set(argument);
  Operation *terminator = body.getTerminator();
  terminator->setOperands(call.getResults());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (&op != terminator && &op != call && op.use_empty())
      op.erase();
  for (unsigned i = main.getNumArguments(); i-- > 0;)
    if (isa<RankedTensorType>(main.getArgument(i).getType()) && main.getArgument(i).use_empty())
      (void)main.eraseArgument(i);
  main.setFunctionType(FunctionType::get(main.getContext(), main.getArgumentTypes(), call.getResultTypes()));
  main.removeResAttrsAttr();
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    main.removeArgAttr(i, graph::nameAttrName);
  return true;
}
} // namespace

std::vector<KernelModule> kernelModules(ModuleOp module) {
  llvm::MapVector<StringRef, int64_t> calls;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (auto call : main.getOps<func::CallOp>())
    ++calls[call.getCallee()];
  std::vector<KernelModule> kernels;
  for (auto [name, count] : calls) {
    KernelModule &made = kernels.emplace_back();
    made.name = name.str();
    made.calls = count;
    made.module = ModuleOp::create(module.getLoc());
    (*made.module)->setAttrs(module->getAttrDictionary());
    for (Operation &op : *module.getBody())
      if (auto function = dyn_cast<func::FuncOp>(op);
          !function || !function->hasAttr(kernelAttrName) || function.getName() == name)
        made.module->push_back(op.clone());
    auto kernel = made.module->lookupSymbol<func::FuncOp>(name);
    if (auto ops = kernel->getAttrOfType<StringAttr>(opsAttrName))
      made.operations = ops.str();
    if (!reduceToCall(made.module->lookupSymbol<func::FuncOp>("main"), name))
      made.module = nullptr;
  }
  return kernels;
}

} // namespace tilewright
