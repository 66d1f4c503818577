//===- ProducerInliner.cpp - move kernels into the kernels that read their results ----------===//
//
// Before:
//   %p = call @pad_0(%x, %empty)
//   %r = call @max_pool_1(%p, %into)
// After:
//   %r = call @max_pool_1(%x, %into)             // its first ops are those of pad_0
//
// Tests: test/Codegen/GPU/Schedule/inline-copies.mlir, test/Codegen/GPU/Schedule/inline-concats.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/ProducerInliner.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Views.h"
#include "lib/Codegen/GPU/Schedule.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns the call that computes operand `number` of `call`. Returns null if the operand has another origin or other
/// uses.
func::CallOp producerOf(func::CallOp call, unsigned number) {
  auto producer = call.getOperand(number).getDefiningOp<func::CallOp>();
  return producer && producer.getNumResults() == 1 && producer.getResult(0).hasOneUse() ? producer : func::CallOp();
}

} // namespace

ProducerInliner::ProducerInliner(ModuleOp module) : module(module), symbols(module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function->hasAttr(kernelAttrName))
      function.walk([&](func::CallOp call) { callsOf[call.getCallee()].push_back(call); });
}

/// Returns true if `value` is a parameter, a constant or a buffer of a result, or if it is computed only from these.
bool ProducerInliner::isOfParameters(Value value) {
  value = tile::viewedValue(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), staticAttrName);
  }
  Operation *op = value.getDefiningOp();
  if (!isa<func::CallOp>(op))
    return isa<tensor::EmptyOp, arith::ConstantOp>(op);
  if (auto known = ofParameters.find(op); known != ofParameters.end())
    return known->second;
  const bool isOf = llvm::all_of(op->getOperands(), [&](Value operand) { return isOfParameters(operand); });
  return ofParameters[op] = isOf;
}

/// Returns the kernel that computes operand `number` of all `calls`, or null.
func::FuncOp ProducerInliner::producerOfAll(ArrayRef<func::CallOp> calls, unsigned number) {
  func::FuncOp common;
  for (func::CallOp call : calls) {
    func::CallOp producer = producerOf(call, number);
    auto kernel = producer ? symbols.lookup<func::FuncOp>(producer.getCallee()) : func::FuncOp();
    if (!kernel || !kernel->hasAttr(kernelAttrName) || kernel->hasAttr(scheduleAttrName) ||
        (common && common != kernel))
      return {};
    if (isOfParameters(call.getOperand(number)) &&
        !llvm::all_of(call.getOperands(), [&](Value operand) { return isOfParameters(operand); }))
      return {};
    common = kernel;
  }
  return common;
}

void ProducerInliner::run(llvm::function_ref<bool(func::FuncOp, unsigned, func::FuncOp)> isWanted) {
  llvm::SetVector<func::FuncOp> moved;
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(kernelAttrName) || kernel->hasAttr(scheduleAttrName) || kernel.getNumArguments() == 0)
      continue;
    const SmallVector<func::CallOp> calls = callsOf.lookup(kernel.getName());
    for (unsigned number = inputsOf(kernel); number-- > 0;) {
      func::FuncOp producer = producerOfAll(calls, number);
      if (!producer || !isWanted(kernel, number, producer))
        continue;
      moveInto(kernel, number, producer, calls);
      mergeEqualArguments(kernel, calls);
      number = inputsOf(kernel); // operands of the moved ops may have producers, too
      moved.insert(producer);
    }
  }
  for (func::FuncOp producer : moved)
    if (callsOf.lookup(producer.getName()).empty())
      symbols.erase(producer);
}

/// Moves the ops of `producer`, which computes argument `number` in all `calls` of `kernel`, into `kernel`. The
/// arguments of `producer` replace this argument.
void ProducerInliner::moveInto(func::FuncOp kernel, unsigned number, func::FuncOp producer,
                               ArrayRef<func::CallOp> calls) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  const unsigned inputs = inputsOf(producer);
  IRMapping mapping;
  for (unsigned i = 0; i < inputs; ++i) {
    NamedAttrList attributes;
    if (Attribute sizes = producer.getArgAttr(i, tile::sizesAttrName))
      attributes.append(tile::sizesAttrName, sizes);
    (void)kernel.insertArgument(number + 1 + i, producer.getArgument(i).getType(),
                                attributes.getDictionary(kernel.getContext()), producer.getLoc());
    mapping.map(producer.getArgument(i), kernel.getArgument(number + 1 + i));
  }
  auto result = cast<RankedTensorType>(producer.getResultTypes()[0]);
  mapping.map(
      producer.getArgument(inputs),
      tensor::EmptyOp::create(builder, producer.getLoc(), result.getShape(), result.getElementType()).getResult());
  kernel.getArgument(number).replaceAllUsesWith(cloneBody(builder, producer, mapping)[0]);
  (void)kernel.eraseArgument(number);
  // The moved ops may read elements of an operand after other threads have written their results.
  forgetInPlace(kernel);
  auto named = [&](Operation *op) {
    auto first = producer->getAttrOfType<StringAttr>(opsAttrName), second = op->getAttrOfType<StringAttr>(opsAttrName);
    if (first && second)
      op->setAttr(opsAttrName, builder.getStringAttr(first.getValue().str() + "+" + second.getValue().str()));
  };
  named(kernel);
  for (func::CallOp call : calls) {
    func::CallOp before = producerOf(call, number);
    SmallVector<Value> operands(call.getOperands());
    operands.erase(operands.begin() + number);
    operands.insert(operands.begin() + number, before.operand_begin(), before.operand_begin() + inputs);
    call->setOperands(operands);
    named(call);
    llvm::erase(callsOf[producer.getName()], before);
    ofParameters.erase(before);
    before.erase();
  }
}

/// Replaces inputs that are equal in all `calls` by one input.
void ProducerInliner::mergeEqualArguments(func::FuncOp kernel, ArrayRef<func::CallOp> calls) {
  for (unsigned second = inputsOf(kernel); second-- > 1;)
    for (unsigned first = 0; first < second; ++first) {
      if (!llvm::all_of(calls, [&](func::CallOp call) { return call.getOperand(first) == call.getOperand(second); }))
        continue;
      kernel.getArgument(second).replaceAllUsesWith(kernel.getArgument(first));
      (void)kernel.eraseArgument(second);
      for (func::CallOp call : calls)
        call->eraseOperand(second);
      break;
    }
}

} // namespace tilewright::gpu
