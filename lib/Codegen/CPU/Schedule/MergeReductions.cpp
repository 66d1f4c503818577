//===- MergeReductions.cpp - merges reductions with their elementwise producers --===//
//
// Before (in a tile):
//   %e = linalg.generic {exp(x - m)} ["parallel", "parallel"] ins(%x, %m) outs(%empty) : tensor<4x768xf32>
//   %s = linalg.generic {add} ["parallel", "reduction"] ins(%e) outs(%zero) : tensor<4xf32>
// After:
//   %e, %s = linalg.generic {exp(x - m), add} ["parallel", "reduction"] ins(%x, %m) outs(%empty, %zero)
//
// The merged op traverses the row once instead of twice. Its first result has an element for each iteration of all
// loops. The vectorizer (lib/Codegen/CPU/Vectorize) stores this element in each iteration, also in the iterations of
// reduction loops. A reduction is merged only if its innermost loop is a reduction loop, because otherwise the first
// result would be stored with a large stride.
//
// Test: test/Codegen/CPU/Schedule/merge-reductions.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_MERGEREDUCTIONS
#include "tilewright/Passes.h.inc"
namespace tiled {
namespace {

bool onlyIdentities(linalg::GenericOp op, ValueRange operands) {
  for (OpOperand &operand : op->getOpOperands())
    if (llvm::is_contained(operands, operand.get()) && !op.getMatchingIndexingMap(&operand).isIdentity())
      return false;
  return true;
}

/// Returns the elementwise op that computes the elements `reduction` reads, one per iteration. Returns null if the two
/// ops cannot be merged.
linalg::GenericOp producerOf(linalg::GenericOp reduction) {
  if (reduction.getNumReductionLoops() == 0 ||
      reduction.getIteratorTypesArray().back() != utils::IteratorType::reduction)
    return {};
  for (Value input : reduction.getInputs()) {
    auto producer = input.getDefiningOp<linalg::GenericOp>();
    if (!producer || producer->getBlock() != reduction->getBlock() || producer.getNumResults() != 1 ||
        producer.getNumParallelLoops() != producer.getNumLoops() || producer.getNumLoops() != reduction.getNumLoops() ||
        !onlyIdentities(producer, producer.getOutputs()) || !onlyIdentities(reduction, input) ||
        !producer.getRegionOutputArgs()[0].use_empty())
      continue;
    // The merged op is inserted at the reduction, so all other users of the producer must come after the reduction.
    if (llvm::all_of(producer->getUsers(), [&](Operation *user) {
          Operation *here = reduction->getBlock()->findAncestorOpInBlock(*user);
          return here && (here == reduction || reduction->isBeforeInBlock(here));
        }))
      return producer;
  }
  return {};
}

void merge(linalg::GenericOp producer, linalg::GenericOp reduction) {
  OpBuilder builder(reduction);
  Value elements = producer->getResult(0);
  SmallVector<Value> inputs(producer.getInputs()), outputs(producer.getOutputs());
  SmallVector<AffineMap> inputMaps, outputMaps;
  for (OpOperand *input : producer.getDpsInputOperands())
    inputMaps.push_back(producer.getMatchingIndexingMap(input));
  outputMaps.push_back(producer.getMatchingIndexingMap(producer.getDpsInitOperand(0)));
  for (OpOperand *input : reduction.getDpsInputOperands())
    if (input->get() != elements) {
      inputs.push_back(input->get());
      inputMaps.push_back(reduction.getMatchingIndexingMap(input));
    }
  llvm::append_range(outputs, reduction.getOutputs());
  for (int64_t number = 0; number < reduction.getNumDpsInits(); ++number)
    outputMaps.push_back(reduction.getMatchingIndexingMap(reduction.getDpsInitOperand(number)));
  SmallVector<AffineMap> maps(inputMaps);
  llvm::append_range(maps, outputMaps);
  SmallVector<Type> types(ValueRange(outputs).getTypes());
  auto body = [&](OpBuilder &b, Location, ValueRange arguments) {
    IRMapping values;
    size_t next = 0;
    for (OpOperand *input : producer.getDpsInputOperands())
      values.map(producer.getMatchingBlockArgument(input), arguments[next++]);
    for (Operation &inner : producer.getBody()->without_terminator())
      b.clone(inner, values);
    SmallVector<Value> yielded{values.lookupOrDefault(producer.getBody()->getTerminator()->getOperand(0))};
    for (OpOperand *input : reduction.getDpsInputOperands())
      values.map(reduction.getMatchingBlockArgument(input),
                 input->get() == elements ? yielded.front() : arguments[next++]);
    ++next; // skip the producer's output argument, which its body does not read
    for (BlockArgument accumulator : reduction.getRegionOutputArgs())
      values.map(accumulator, arguments[next++]);
    for (Operation &inner : reduction.getBody()->without_terminator())
      b.clone(inner, values);
    for (Value value : reduction.getBody()->getTerminator()->getOperands())
      yielded.push_back(values.lookupOrDefault(value));
    linalg::YieldOp::create(b, reduction.getLoc(), yielded);
  };
  auto merged = linalg::GenericOp::create(builder, reduction.getLoc(), types, inputs, outputs, maps,
                                          reduction.getIteratorTypesArray(), body);
  merged->setDiscardableAttrs(reduction->getDiscardableAttrDictionary());
  elements.replaceAllUsesWith(merged.getResult(0));
  reduction->replaceAllUsesWith(merged.getResults().drop_front());
  reduction.erase();
  producer.erase();
}

struct MergeReductions : impl::MergeReductionsBase<MergeReductions> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    if (!getOperation()->hasAttr(kernelAttrName))
      return;
    SmallVector<linalg::GenericOp> reductions;
    getOperation().walk([&](linalg::GenericOp op) { reductions.push_back(op); });
    for (linalg::GenericOp reduction : reductions) {
      // Merging erases the producer. The producer comes before the reduction in the list, so no later iteration reads
      // it.
      if (linalg::GenericOp producer = producerOf(reduction))
        merge(producer, reduction);
    }
  }
};
} // namespace
} // namespace tiled
} // namespace tilewright
