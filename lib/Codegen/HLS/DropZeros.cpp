//===- DropZeros.cpp - remove multiplications by zeros from kernels ---------------------------===//
//
//   %z = arith.constant dense<0> : tensor<64xi32>                 // the zero points of symmetric weights
//   %s = call @sums(%x) ; %y = call @layer(%x, %w, %s, %z)        // out = conv(x, w) - s * z
// becomes
//   %y = call @layer(%x, %w)                                      // out = conv(x, w)
//
// The removed call @sums, a sum over a layer's input, is expensive: it needs a task and a copy of the input in block
// memories.
//
// Test: test/Codegen/HLS/drop-zeros.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/DropZeros.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

using Calls = llvm::MapVector<Operation *, SmallVector<func::CallOp>>;

Calls callsOf(func::FuncOp main) {
  Calls calls;
  auto module = main->getParentOfType<ModuleOp>();
  for (auto call : main.front().getOps<func::CallOp>())
    calls[module.lookupSymbol<func::FuncOp>(call.getCallee())].push_back(call);
  return calls;
}

bool isZeros(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isInteger() && matchPattern(value, m_Zero());
}

/// Replaces the elements of `argument` by zeros in the bodies of the linalg.generic ops that read it. Returns true if
/// any body changed.
bool putZeros(BlockArgument argument) {
  bool changes = false;
  for (OpOperand &use : argument.getUses()) {
    auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!generic || !generic.isDpsInput(&use))
      continue;
    BlockArgument element = generic.getMatchingBlockArgument(&use);
    if (element.use_empty())
      continue;
    OpBuilder builder(generic.getBlock(), generic.getBlock()->begin());
    element.replaceAllUsesWith(
        arith::ConstantOp::create(builder, generic.getLoc(), builder.getZeroAttr(element.getType())));
    changes = true;
  }
  return changes;
}

/// Removes the unused arguments of a kernel, and the corresponding operands of its calls. If all arguments are unused,
/// does nothing.
void dropArguments(func::FuncOp kernel, ArrayRef<func::CallOp> calls) {
  llvm::BitVector unused(kernel.getNumArguments());
  for (BlockArgument argument : kernel.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  if (unused.none() || unused.all())
    return;
  (void)kernel.eraseArguments(unused);
  for (func::CallOp call : calls)
    call->eraseOperands(unused);
}

/// Removes the results of a kernel that are unused in all calls, and returns true. If there are no such results, or if
/// all results are unused, changes nothing and returns false.
bool dropResults(func::FuncOp kernel, ArrayRef<func::CallOp> calls) {
  llvm::BitVector unused(kernel.getNumResults(), true);
  for (func::CallOp call : calls)
    for (OpResult result : call->getResults())
      if (!result.use_empty())
        unused.reset(result.getResultNumber());
  if (unused.none() || unused.all())
    return false;
  kernel.front().getTerminator()->eraseOperands(unused);
  (void)kernel.eraseResults(unused);
  for (func::CallOp call : calls) {
    OpBuilder builder(call);
    auto made = func::CallOp::create(builder, call.getLoc(), kernel, call.getOperands());
    made->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    unsigned next = 0;
    for (OpResult result : call->getResults())
      if (!unused[result.getResultNumber()])
        result.replaceAllUsesWith(made.getResult(next++));
    call.erase();
  }
  return true;
}

/// Erases the calls of kernels whose results are unused, and the other dead ops of `main`. Kernels have no side effects.
void dropCalls(func::FuncOp main) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.front())))
    if (op.use_empty() && (isa<func::CallOp>(op) || isOpTriviallyDead(&op)))
      op.erase();
}

} // namespace

void dropZeros(func::FuncOp main) {
  RewritePatternSet patterns(main.getContext());
  arith::MulIOp::getCanonicalizationPatterns(patterns, main.getContext());
  arith::SubIOp::getCanonicalizationPatterns(patterns, main.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  const FrozenRewritePatternSet frozen(std::move(patterns));
  for (auto &[function, calls] : callsOf(main)) {
    auto kernel = cast<func::FuncOp>(function);
    bool changes = false;
    for (BlockArgument argument : kernel.getArguments())
      if (llvm::all_of(calls, [&](func::CallOp call) { return isZeros(call.getOperand(argument.getArgNumber())); }))
        changes |= putZeros(argument);
    if (!changes)
      continue;
    (void)applyPatternsGreedily(kernel, frozen);
    dropArguments(kernel, calls);
  }
  dropCalls(main);
  // Process kernels from the last to the first, because removing an operand of a kernel may make the result of an
  // earlier kernel unused.
  SmallVector<Operation *> kernels = llvm::to_vector(llvm::make_first_range(callsOf(main)));
  for (Operation *function : llvm::reverse(kernels)) {
    auto kernel = cast<func::FuncOp>(function);
    if (!dropResults(kernel, callsOf(main)[function]))
      continue;
    (void)applyPatternsGreedily(kernel, frozen);
    dropArguments(kernel, callsOf(main)[function]);
    dropCalls(main);
  }
}

} // namespace tilewright::hls
