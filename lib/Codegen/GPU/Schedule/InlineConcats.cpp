//===- InlineConcats.cpp - compute concatenations where they are read -----------------------===//
//
// Before (rotary position embeddings of queries or keys):
//   %h = call @permute_0(%q, %empty)             // heads first
//   %n = call @neg_1(%h, %empty)                 // -h[64:]
//   %c = call @insert_slice_2(%n, %h, %empty)    // concat(-h[64:], h[:64])
//   %r = call @mul_add_3(%h, %cos, %c, %sin, %into)
// After:
//   %r = call @mul_add_3(%q, %cos, %sin, %into)
//
// A thread computes its adjacent elements of the concatenation in one branch (ElementsOfInsertions.cpp). The
// concatenation and its parts are neither stored nor loaded. A permutation of an operand is also moved into a kernel
// with a concatenation if the last dimension remains the last one, so that adjacent elements remain adjacent.
//
// A kernel is moved only if all of its ops are elementwise, copies or concatenations without math functions, if the
// parts begin and end at multiples of `unit` elements, and if the kernel that reads the concatenation is elementwise.
//
// Tests: test/Codegen/GPU/Schedule/inline-concats.mlir, test/Python/test_cuda_concat.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/InlineConcats.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/Schedule/ProducerInliner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The largest number of adjacent elements that a thread computes.
constexpr int64_t unit = 8;

/// The largest number of times that an element of a concatenation may be computed, if the reader broadcasts it. Keys of
/// attention with grouped queries are an example.
constexpr int64_t mostReads = 8;

/// Returns the number of elements of the largest result.
int64_t elementsOf(func::FuncOp kernel) {
  int64_t most = 1;
  for (Type type : kernel.getResultTypes())
    most = std::max(most, cast<ShapedType>(type).getNumElements());
  return most;
}

bool concatenates(func::FuncOp kernel) { return !kernel.getOps<tensor::InsertSliceOp>().empty(); }

/// Returns true if no part of a concatenation in the kernel begins or ends within `unit` adjacent elements, and there
/// are few parts.
bool hasWholeParts(func::FuncOp kernel) {
  constexpr int64_t mostParts = 8;
  auto isMultiple = [](OpFoldResult value) {
    std::optional<int64_t> known = getConstantIntValue(value);
    return known && *known % unit == 0;
  };
  int64_t parts = 0;
  return llvm::all_of(kernel.getOps<tensor::InsertSliceOp>(), [&](tensor::InsertSliceOp op) {
    return ++parts <= mostParts && op.getType().getRank() > 0 && op.hasUnitStride() && op.getDroppedDims().none() &&
           isMultiple(op.getMixedOffsets().back()) && isMultiple(op.getMixedSizes().back());
  });
}

/// Returns true if all ops of the kernel compute element by element, without reductions. If `isCheap`, also returns
/// false for kernels that compute math functions or read elements at computed indices.
bool isElementwise(func::FuncOp kernel, bool isCheap) {
  return sizesAreKnown(kernel) && llvm::all_of(kernel.getBody().front(), [&](Operation &op) {
           if (isa<tensor::EmptyOp, tensor::ExtractSliceOp, tensor::InsertSliceOp, arith::ConstantOp, func::ReturnOp,
                   linalg::FillOp>(op))
             return true;
           auto generic = dyn_cast<linalg::GenericOp>(op);
           return generic && generic.getNumReductionLoops() == 0 &&
                  (!isCheap || llvm::all_of(*generic.getBlock(), [](Operation &inner) {
                    return isa<linalg::YieldOp>(inner) || (isa<arith::ArithDialect>(inner.getDialect()) &&
                                                           !isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp,
                                                                arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(inner));
                  }));
         });
}

/// Returns true if the kernel reads `argument` only as an operand of elementwise ops, whose last loop indexes its last
/// dimension.
bool readsElementwise(BlockArgument argument) {
  return llvm::all_of(argument.getUses(), [](OpOperand &use) {
    auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!generic || !generic.isDpsInput(&use))
      return false;
    AffineMap map = generic.getMatchingIndexingMap(&use);
    auto last = dyn_cast_or_null<AffineDimExpr>(map.getNumResults() ? map.getResults().back() : AffineExpr());
    return map.isProjectedPermutation(/*allowZeroInResults=*/true) && last &&
           last.getPosition() == generic.getNumLoops() - 1;
  });
}

/// Returns true if the kernel only permutes the dimensions of its operand, except the last dimension.
bool permutesOuterDimensions(func::FuncOp kernel) {
  auto ops = kernel.getOps<linalg::GenericOp>();
  if (kernel.getNumArguments() != 2 || !llvm::hasSingleElement(ops))
    return false;
  linalg::GenericOp op = *ops.begin();
  if (op.getNumDpsInputs() != 1 || op.getBlock()->getOperations().size() != 1 ||
      op.getBlock()->getTerminator()->getOperand(0) != op.getBlock()->getArgument(0) ||
      op.getDpsInputOperand(0)->get() != kernel.getArgument(0) || concatenates(kernel))
    return false;
  AffineMap from = op.getMatchingIndexingMap(op.getDpsInputOperand(0)),
            to = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  return from.isPermutation() && to.isIdentity() && from.getNumResults() > 0 &&
         from.getResults().back() == to.getResults().back();
}

/// Returns true if the kernel reads `argument` only as parts of concatenations.
bool readsParts(func::FuncOp kernel, BlockArgument argument) {
  return llvm::all_of(argument.getUses(), [](OpOperand &use) {
    auto insertion = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
    return insertion && insertion.getSource() == use.get();
  });
}

} // namespace

void inlineConcats(ModuleOp module, llvm::function_ref<bool(func::FuncOp)> readsElements) {
  ProducerInliner(module).run([&](func::FuncOp kernel, unsigned number, func::FuncOp producer) {
    BlockArgument argument = kernel.getArgument(number);
    if (!concatenates(kernel) && !concatenates(producer))
      return false;
    if (!isElementwise(kernel, /*isCheap=*/false) || !isElementwise(producer, /*isCheap=*/true) ||
        !hasWholeParts(kernel) || !hasWholeParts(producer) || !readsElements(kernel))
      return false;
    if (concatenates(producer))
      return readsElementwise(argument) && elementsOf(kernel) <= mostReads * elementsOf(producer);
    return readsParts(kernel, argument) || permutesOuterDimensions(producer);
  });
}

} // namespace tilewright::gpu
