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
#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/Schedule/ProducerInliner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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

} // namespace

void inlineCopies(ModuleOp module, llvm::function_ref<bool(func::FuncOp)> readsElements) {
  ProducerInliner(module).run([&](func::FuncOp kernel, unsigned number, func::FuncOp copy) {
    return copiesOnly(copy) && readsWindows(kernel, kernel.getArgument(number)) && readsElements(kernel);
  });
}

} // namespace tilewright::gpu
