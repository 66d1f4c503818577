//===- NewKernel.cpp - kernels that are made from other kernels when schedules are selected -===//
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Schedule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {

func::FuncOp makeKernel(OpBuilder &builder, func::FuncOp origin, StringRef suffix, ArrayRef<Type> types,
                        TypeRange results, Attribute ops) {
  builder.setInsertionPoint(origin);
  auto made = func::FuncOp::create(builder, origin.getLoc(), (origin.getName() + suffix).str(),
                                   builder.getFunctionType(types, results));
  made->setAttr(kernelAttrName, builder.getUnitAttr());
  if (ops)
    made->setAttr(opsAttrName, ops);
  made.setPrivate();
  Block *body = made.addEntryBlock();
  for (unsigned argument = 0; argument < made.getNumArguments(); ++argument)
    if (auto type = dyn_cast<RankedTensorType>(types[argument]); type && type.hasStaticShape())
      setSizes(made, argument);
  builder.setInsertionPointToStart(body);
  return made;
}

void setSizes(func::FuncOp kernel, unsigned argument) {
  Builder builder(kernel.getContext());
  SmallVector<AffineExpr> sizes;
  for (int64_t size : cast<ShapedType>(kernel.getArgument(argument).getType()).getShape())
    sizes.push_back(builder.getAffineConstantExpr(size));
  kernel.setArgAttr(argument, tile::sizesAttrName,
                    AffineMapAttr::get(AffineMap::get(0, 0, sizes, kernel.getContext())));
}

void copySizes(func::FuncOp from, func::FuncOp to) {
  for (auto [before, after] : llvm::zip_equal(from.getArguments(), to.getArguments()))
    if (Attribute sizes = from.getArgAttr(before.getArgNumber(), tile::sizesAttrName);
        sizes && before.getType() == after.getType())
      to.setArgAttr(after.getArgNumber(), tile::sizesAttrName, sizes);
}

unsigned inputsOf(func::FuncOp kernel) { return kernel.getNumArguments() - kernel.getNumResults(); }

void forgetInPlace(func::FuncOp kernel) {
  for (unsigned argument = inputsOf(kernel); argument < kernel.getNumArguments(); ++argument)
    kernel.removeArgAttr(argument, overAttrName);
}

/// Changes the numbers of arguments in the attributes tw.over, after an argument was inserted before all others, and
/// before the arguments `erased` are erased.
static void renumberInPlace(func::FuncOp kernel, ArrayRef<unsigned> erased) {
  for (unsigned argument = inputsOf(kernel); argument < kernel.getNumArguments(); ++argument) {
    auto over = kernel.getArgAttrOfType<DenseI64ArrayAttr>(argument, overAttrName);
    if (!over)
      continue;
    SmallVector<int64_t> numbers;
    for (int64_t old : over.asArrayRef())
      if (const auto number = unsigned(old) + 1; !llvm::is_contained(erased, number))
        numbers.push_back(int64_t(number) - llvm::count_if(erased, [&](unsigned other) { return other < number; }));
    if (numbers.empty())
      kernel.removeArgAttr(argument, overAttrName);
    else
      kernel.setArgAttr(argument, overAttrName, DenseI64ArrayAttr::get(kernel.getContext(), numbers));
  }
}

void passNewFirst(ModuleOp module, func::FuncOp kernel, ArrayRef<unsigned> candidates,
                  llvm::function_ref<Value(OpBuilder &, func::CallOp)> make) {
  SmallVector<unsigned> erased; // present numbers
  for (unsigned candidate : candidates)
    if (kernel.getArgument(candidate + 1).use_empty() && !llvm::is_contained(erased, candidate + 1))
      erased.push_back(candidate + 1);
  llvm::sort(erased);
  for (func::CallOp call : callsOf(module, kernel)) {
    OpBuilder builder(call);
    SmallVector<Value> operands{make(builder, call)};
    for (auto [number, operand] : llvm::enumerate(call.getOperands()))
      if (!llvm::is_contained(erased, number + 1))
        operands.push_back(operand);
    call->setOperands(operands);
    if (auto ops = kernel->getAttr(opsAttrName))
      call->setAttr(opsAttrName, ops);
  }
  renumberInPlace(kernel, erased);
  for (unsigned argument : llvm::reverse(erased))
    (void)kernel.eraseArgument(argument);
}

SmallVector<Value> cloneBody(OpBuilder &builder, func::FuncOp from, IRMapping &mapping) {
  Block &body = from.getBody().front();
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value value) { return mapping.lookup(value); });
}

func::CallOp callWithNewBuffers(OpBuilder &builder, Location loc, func::FuncOp kernel, ValueRange inputs) {
  SmallVector<Value> operands(inputs);
  for (Type type : kernel.getResultTypes()) {
    auto ranked = cast<RankedTensorType>(type);
    operands.push_back(tensor::EmptyOp::create(builder, loc, ranked.getShape(), ranked.getElementType()));
  }
  auto made = func::CallOp::create(builder, loc, kernel, operands);
  made->setAttr(opsAttrName, kernel->getAttr(opsAttrName));
  return made;
}

SmallVector<func::CallOp> callsOf(ModuleOp module, func::FuncOp kernel) {
  SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) {
    if (call.getCallee() == kernel.getName())
      calls.push_back(call);
  });
  return calls;
}

std::string opsOf(func::CallOp call) {
  auto ops = call->getAttrOfType<StringAttr>(opsAttrName);
  return ops ? ops.getValue().str() : call.getCallee().str();
}

void redirectCall(func::CallOp call, func::FuncOp kernel, ValueRange operands) {
  call.setCallee(kernel.getName());
  call->setOperands(operands);
}

Value OperandCopies::copyOf(Location loc, Value operand, RankedTensorType type,
                            llvm::function_ref<func::FuncOp()> makeKernel) {
  Value &copy = copies[{operand, type}];
  if (copy)
    return copy;
  func::FuncOp &kernel = kernels[{operand.getType(), type}];
  if (!kernel) {
    OpBuilder::InsertionGuard guard(builder);
    kernel = makeKernel();
    symbols.insert(kernel);
  }
  builder.setInsertionPointAfterValue(operand); // calls may be visited in any order
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  auto made = func::CallOp::create(builder, loc, kernel, ValueRange{operand, empty});
  made->setAttr(opsAttrName, kernel->getAttr(opsAttrName));
  return copy = made.getResult(0);
}

void eraseUncalled(ModuleOp module, SymbolTable &symbols, ArrayRef<StringAttr> kernels) {
  llvm::DenseSet<Attribute> called;
  module.walk([&](func::CallOp call) { called.insert(call.getCalleeAttr().getAttr()); });
  for (StringAttr name : kernels)
    if (!called.contains(name))
      symbols.erase(symbols.lookup(name));
}

} // namespace tilewright::gpu
