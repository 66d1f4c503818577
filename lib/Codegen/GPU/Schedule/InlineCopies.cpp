//===- InlineCopies.cpp - compute padded operands of windowed kernels where they are read --===//
//
// Before:
//   %p = call @pad_0(%x, %empty)                 // tensor.pad %x low[0, 1, 1, 0] : 32x112x112x64 -> 32x113x113x64
//   %r = call @max_pool_1(%p, %into)             // windows of 3 x 3 elements
// After:
//   %r = call @max_pool_1(%x, %into)             // its first op is tensor.pad %x
//
// The code of a thread computes only the elements of the padded tensor that it reads (lib/Codegen/GPU/Elements.h), so
// the padded tensor is neither written nor read. Windows overlap, so an element is computed several times. Therefore,
// the pass moves only kernels that copy elements, because a copy needs no arithmetic except for the computation of
// indices.
//
// Tests: test/Codegen/GPU/Schedule/inline-copies.mlir, test/Python/test_cuda_windows.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/InlineCopies.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns true if the kernel has one result, each of whose elements is an element of an operand or a constant.
bool copiesOnly(func::FuncOp kernel) {
  if (kernel.getNumResults() != 1 || !sizesAreKnown(kernel))
    return false;
  for (Operation &op : kernel.getBody().front()) {
    if (isa<tensor::EmptyOp, tensor::PadOp, tensor::ExtractSliceOp, arith::ConstantOp, func::ReturnOp>(op))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || generic.getNumReductionLoops() > 0)
      return false;
    for (Operation &inner : *generic.getBlock()) {
      const bool ofIndices = llvm::all_of(inner.getOperandTypes(), [](Type type) { return type.isIndex(); });
      if (!isa<arith::ConstantOp, arith::SelectOp, arith::AndIOp, tensor::ExtractOp, linalg::IndexOp, linalg::YieldOp>(
              inner) &&
          !(isa<arith::ArithDialect>(inner.getDialect()) && ofIndices))
        return false;
    }
  }
  return true;
}

/// Returns true if all reductions of the kernel are short and read `operand` through overlapping windows or not at all,
/// and at least one reads it.
bool readsWindows(func::FuncOp kernel, BlockArgument operand) {
  constexpr int64_t mostTerms = 128; // the number of elements of a window
  if (!sizesAreKnown(kernel))
    return false;
  bool reads = false;
  for (Operation *user : operand.getUsers())
    if (!isa<linalg::GenericOp>(user))
      return false;
  for (auto op : kernel.getOps<linalg::LinalgOp>()) {
    int64_t terms = 1;
    for (auto [kind, size] : llvm::zip_equal(op.getIteratorTypesArray(), op.getStaticLoopRanges()))
      if (kind == utils::IteratorType::reduction)
        terms *= size;
    if (terms > mostTerms)
      return false;
    for (OpOperand *input : op.getDpsInputOperands())
      if (input->get() == operand) {
        if (op.getNumReductionLoops() == 0 || op.getMatchingIndexingMap(input).isProjectedPermutation())
          return false;
        reads = true;
      }
  }
  return reads;
}

/// Returns the call that computes operand `number` of `call`. Returns null if the operand has another origin or other
/// uses.
func::CallOp producerOf(func::CallOp call, unsigned number) {
  auto producer = call.getOperand(number).getDefiningOp<func::CallOp>();
  return producer && producer.getNumResults() == 1 && producer.getResult(0).hasOneUse() ? producer : func::CallOp();
}

/// Moves the ops of the kernel `copy`, which computes argument `number` in all `calls` of `kernel`, into `kernel`. The
/// arguments of `copy` replace this argument.
void moveInto(func::FuncOp kernel, unsigned number, func::FuncOp copy, ArrayRef<func::CallOp> calls) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  const unsigned inputs = copy.getNumArguments() - 1; // the last argument is the destination
  IRMapping mapping;
  for (unsigned i = 0; i < inputs; ++i) {
    NamedAttrList attributes;
    if (Attribute sizes = copy.getArgAttr(i, tile::sizesAttrName))
      attributes.append(tile::sizesAttrName, sizes);
    (void)kernel.insertArgument(number + 1 + i, copy.getArgument(i).getType(),
                                attributes.getDictionary(kernel.getContext()), copy.getLoc());
    mapping.map(copy.getArgument(i), kernel.getArgument(number + 1 + i));
  }
  auto result = cast<RankedTensorType>(copy.getResultTypes()[0]);
  mapping.map(copy.getArgument(inputs),
              tensor::EmptyOp::create(builder, copy.getLoc(), result.getShape(), result.getElementType()).getResult());
  Operation *terminator = copy.getBody().front().getTerminator();
  for (Operation &op : copy.getBody().front().without_terminator())
    builder.clone(op, mapping);
  kernel.getArgument(number).replaceAllUsesWith(mapping.lookup(terminator->getOperand(0)));
  (void)kernel.eraseArgument(number);
  auto named = [&](Operation *op) {
    auto first = copy->getAttrOfType<StringAttr>(opsAttrName), second = op->getAttrOfType<StringAttr>(opsAttrName);
    if (first && second)
      op->setAttr(opsAttrName, builder.getStringAttr(first.getValue().str() + "+" + second.getValue().str()));
  };
  named(kernel);
  for (func::CallOp call : calls) {
    func::CallOp producer = producerOf(call, number);
    SmallVector<Value> operands(call.getOperands());
    operands.erase(operands.begin() + number);
    operands.insert(operands.begin() + number, producer.operand_begin(), producer.operand_begin() + inputs);
    call->setOperands(operands);
    named(call);
    producer.erase();
  }
}

} // namespace

void inlineCopies(ModuleOp module, llvm::function_ref<bool(func::FuncOp)> readsElements) {
  SymbolTable symbols(module);
  llvm::DenseMap<StringRef, SmallVector<func::CallOp>> callsOf;
  module.walk([&](func::CallOp call) { callsOf[call.getCallee()].push_back(call); });
  for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!kernel->hasAttr(kernelAttrName) || kernel->hasAttr(scheduleAttrName) || kernel.getNumArguments() == 0)
      continue;
    ArrayRef<func::CallOp> calls = callsOf[kernel.getName()];
    for (unsigned number = kernel.getNumArguments() - kernel.getNumResults(); number-- > 0;) {
      if (calls.empty() || !readsWindows(kernel, kernel.getArgument(number)) || !readsElements(kernel))
        continue;
      func::CallOp first = producerOf(calls.front(), number);
      auto copy = first ? symbols.lookup<func::FuncOp>(first.getCallee()) : func::FuncOp();
      const bool same = llvm::all_of(calls, [&](func::CallOp call) {
        func::CallOp producer = producerOf(call, number);
        return producer && copy && producer.getCallee() == copy.getName();
      });
      if (!same || !copy->hasAttr(kernelAttrName) || !copiesOnly(copy))
        continue;
      moveInto(kernel, number, copy, calls);
      if (SymbolTable::symbolKnownUseEmpty(copy, module))
        symbols.erase(copy);
    }
  }
}

} // namespace tilewright::gpu
