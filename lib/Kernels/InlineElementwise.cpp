//===- InlineElementwise.cpp - one loop body for chains of elementwise ops ---===//
//
// Before:
//   %1 = linalg.generic {exp} ins(%0)
//   %2 = linalg.generic {add} ins(%1, %b)          // %1 has no other user
// After:
//   %2 = linalg.generic {exp; add} ins(%0, %b)
//
// A producer is inlined if the consumer is its only user and no expensive op would be computed more than once. A
// producer is also inlined if it is so cheap that each of its users can compute it, for example because its users then
// read no more memory. If the function also returns the producer's result, this result becomes another result of the
// consumer. For example, one op then computes both the parameter and the state in an optimizer's step. A producer that
// depends only on parameters runs only once, so it is not inlined into a consumer that broadcasts its result and also
// reads other values. An elementwise producer that reads a contraction is not inlined into reductions, because it is
// part of the contraction's kernel. No producer is inlined into a contraction or into an op that reads windows.
//
// Test: test/Kernels/inline-elementwise.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Rows.h"
#include "lib/Kernels/FixedValues.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_INLINEELEMENTWISE
#include "tilewright/Passes.h.inc"
namespace structured {
using namespace tile;
namespace {

/// The number of scalar ops of a body. `expensive` is true if the body should not be computed twice: it has an
/// expensive op, or more than 24 ops.
struct BodyCost {
  int64_t ops = 0;
  int64_t work = 0; ///< ops except constants, indices and integer casts, which cost almost nothing
  bool expensive = false;
};

BodyCost costOf(linalg::GenericOp op) {
  BodyCost cost;
  for (Operation &inner : op.getBody()->without_terminator()) {
    ++cost.ops;
    cost.work += !isa<arith::ConstantOp, arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp,
                      linalg::IndexOp, affine::AffineApplyOp>(inner);
    const bool isMath = isa<math::MathDialect>(inner.getDialect()) && !isa<math::AbsFOp, math::FmaOp>(inner);
    cost.expensive |= isMath || isa<tensor::ExtractOp, arith::DivFOp, arith::DivSIOp>(inner);
  }
  constexpr int64_t mostRepeated = 24; // scalar ops that may be computed twice for each element; not measured
  cost.expensive |= cost.ops > mostRepeated;
  return cost;
}

/// Returns true if `op` reads the result of a contraction or convolution element by element.
bool finishesContraction(linalg::GenericOp op) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (Operation *producer = input->get().getDefiningOp())
      if (isContractionRoot(producer) && op.getMatchingIndexingMap(input).isPermutation())
        return true;
  return false;
}

/// Returns true if each operand of `op` is broadcast along at least one dimension of the result.
bool readsBroadcastsAlone(linalg::GenericOp op) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    return llvm::any_of(llvm::seq(op.getNumLoops()), [&](unsigned loop) { return !map.isFunctionOfDim(loop); });
  });
}

/// Returns true if `op` is elementwise, and if, for each element, the operands that are not broadcast have in total at
/// most as many bits as the result. A user that computes the element then reads no more memory than a user that reads
/// the result.
bool readsNoMoreThanItWrites(linalg::GenericOp op) {
  if (op.getNumReductionLoops() > 0 || op.getNumResults() != 1 ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation())
    return false;
  auto bitsOf = [](Value value) -> std::optional<unsigned> {
    Type element = getElementTypeOrSelf(value.getType());
    return element.isIntOrFloat() ? std::optional(element.getIntOrFloatBitWidth()) : std::nullopt;
  };
  unsigned bits = 0;
  SmallVector<Value> seen;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
    if (!map.isPermutation() || llvm::is_contained(seen, input->get()))
      continue;
    std::optional<unsigned> width = bitsOf(input->get());
    if (!width)
      return false;
    seen.push_back(input->get());
    bits += *width;
  }
  std::optional<unsigned> written = bitsOf(op.getResult(0));
  return written && bits <= *written;
}

/// Returns true if both ops are elementwise and iterate over the same elements in the same order, the producer does not
/// read a contraction, and only the consumer and the return op of the enclosing function read the producer's result.
bool isReturnedToo(OpOperand &operand, linalg::GenericOp producer, linalg::GenericOp consumer) {
  if (consumer.getNumReductionLoops() > 0 || producer.getNumReductionLoops() > 0 || finishesContraction(producer) ||
      llvm::count(consumer->getOperands(), operand.get()) > 1 ||
      !consumer.getMatchingIndexingMap(&operand).isIdentity())
    return false;
  for (OpOperand &read : producer->getOpOperands()) {
    AffineMap map = producer.getMatchingIndexingMap(&read);
    if (!map.isIdentity() && (producer.isDpsInit(&read) || map.getNumResults() > 0))
      return false;
  }
  return llvm::all_of(producer->getUsers(),
                      [&](Operation *user) { return user == consumer || isa<func::ReturnOp>(user); });
}

bool shouldInline(OpOperand &operand, linalg::GenericOp producer, linalg::GenericOp consumer,
                  const FixedValues &fixedValues) {
  BodyCost cost = costOf(producer);
  bool onlyUser = llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == consumer; });
  int64_t reads = llvm::count_if(consumer->getOperands(), [&](Value v) { return v.getDefiningOp() == producer; });
  AffineMap map = consumer.getMatchingIndexingMap(&operand);
  bool recomputed = map.getNumResults() < consumer.getNumLoops() || reads > 1;
  if (consumer.getNumReductionLoops() > 0 && finishesContraction(producer))
    return false;
  // Contractions and windows read an element many times. Also, MLIR's fusion of elementwise ops would keep the
  // producer's result as an output that depends on reduction loops.
  bool windows = llvm::any_of(consumer.getIndexingMapsArray(), [](AffineMap read) {
    return llvm::any_of(read.getResults(),
                        [](AffineExpr expr) { return !isa<AffineDimExpr, AffineConstantExpr>(expr); });
  });
  if (windows || isContractionRoot(consumer))
    return false;
  // Each input needs a register for its address, and x86-64 has 16 general-purpose registers. Not measured.
  constexpr int64_t mostInputs = 14;
  if (consumer.getNumDpsInputs() + producer.getNumDpsInputs() > mostInputs)
    return false;
  // A producer that depends only on parameters would be computed again for each row of an activation.
  Operation *first = &producer.getBody()->front();
  bool rounding = cost.ops == 1 && isa<arith::ExtFOp, arith::TruncFOp>(first);
  if (!map.isPermutation() && !rounding && map.getNumResults() > 0 && fixedValues.contains(operand.get()) &&
      !llvm::all_of(consumer.getDpsInputs(), [&](Value input) { return fixedValues.contains(input); }))
    return false;
  if (onlyUser)
    return !(recomputed && cost.expensive);
  if (isReturnedToo(operand, producer, consumer))
    return true; // the producer's result becomes another result of the consumer
  // Cheap producers with at most one operand are computed by each user: casts, masks from indices, scalings. Producers
  // whose operands are all broadcast (a comparison of class indices with targets) may have more ops, because writing
  // and reading their result would take longer.
  if (!cost.expensive && cost.work <= 8 && !recomputed && readsBroadcastsAlone(producer) &&
      !fixedValues.contains(operand.get()))
    return true;
  if (cost.expensive || finishesContraction(producer))
    return false;
  // In the gradient of a norm, this condition inlines the normalized elements (x - mean) * rstd into the sums and into
  // the result, so that these elements are not stored.
  if (cost.work <= 8 && !recomputed && !fixedValues.contains(operand.get()) && readsNoMoreThanItWrites(producer))
    return true;
  return cost.ops <= 4 && producer.getNumDpsInputs() <= 1;
}

/// Returns `merged` without the producer's results. MLIR's fusion keeps these results although no op reads them. In an
/// op with reduction loops they would be invalid. Returns null if an op other than `replaced`, which will be erased,
/// reads them, or if they determine the size of a loop.
linalg::GenericOp withoutKeptResults(IRRewriter &rewriter, linalg::GenericOp merged, unsigned kept,
                                     Operation *replaced) {
  SmallVector<AffineMap> maps = merged.getIndexingMapsArray();
  unsigned inputs = merged.getNumDpsInputs();
  maps.erase(maps.begin() + inputs, maps.begin() + inputs + kept);
  auto unread = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) { return user == replaced; });
  };
  if (!inversePermutation(concatAffineMaps(maps, rewriter.getContext())) ||
      !llvm::all_of(merged.getRegionOutputArgs().take_front(kept), unread) ||
      !llvm::all_of(merged.getResults().take_front(kept), unread))
    return {};
  rewriter.setInsertionPoint(merged);
  ValueRange outputs = merged.getOutputs().drop_front(kept);
  auto made = linalg::GenericOp::create(rewriter, merged.getLoc(), outputs.getTypes(), merged.getInputs(), outputs,
                                        maps, merged.getIteratorTypesArray());
  for (NamedAttribute attribute : merged->getDiscardableAttrs())
    made->setAttr(attribute.getName(), attribute.getValue());
  rewriter.inlineRegionBefore(merged.getRegion(), made.getRegion(), made.getRegion().begin());
  Block &body = made.getRegion().front();
  body.eraseArguments(inputs, kept);
  body.getTerminator()->eraseOperands(0, kept);
  rewriter.eraseOp(merged);
  return made;
}

struct InlineElementwise : impl::InlineElementwiseBase<InlineElementwise> {
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    IRRewriter rewriter(&getContext());
    FixedValues fixedValues(function);
    SmallVector<linalg::GenericOp> work;
    function.walk([&](linalg::GenericOp op) { work.push_back(op); });
    for (size_t i = 0; i < work.size(); ++i) {
      linalg::GenericOp consumer = work[i];
      // Repeat until no operand of this consumer can be inlined. Its producers have already been processed as
      // consumers.
      for (bool changed = true; changed;) {
        changed = false;
        for (OpOperand *operand : consumer.getDpsInputOperands()) {
          auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
          if (!producer || !linalg::areElementwiseOpsFusable(operand))
            continue;
          bool returned = isReturnedToo(*operand, producer, consumer);
          if (producer->getNumResults() == 1 ? !shouldInline(*operand, producer, consumer, fixedValues) : !returned)
            continue;
          rewriter.setInsertionPoint(consumer);
          Operation *copy = nullptr;
          if (!returned && !llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == consumer; })) {
            copy = rewriter.clone(*producer);
            fixedValues.update(copy);
            rewriter.modifyOpInPlace(consumer, [&] { operand->set(copy->getResult(0)); });
          }
          Attribute consumerName = consumer->getAttr(opAttrName), producerName = producer->getAttr(opAttrName);
          FailureOr<linalg::ElementwiseOpFusionResult> fused = linalg::fuseElementwiseOps(rewriter, operand);
          if (failed(fused))
            continue;
          auto merged = cast<linalg::GenericOp>(fused->fusedOp);
          unsigned kept = merged->getNumResults() - consumer->getNumResults();
          // If the consumer reads the producer twice, a kept result would be both an operand and a result of the merged
          // op.
          if (kept && (merged.getNumReductionLoops() > 0 || !returned)) {
            linalg::GenericOp smaller = withoutKeptResults(rewriter, merged, kept, consumer);
            if (!smaller) {
              rewriter.eraseOp(merged);
              continue;
            }
            merged = smaller;
            rewriter.replaceOpUsesWithIf(consumer, merged->getResults(), [](OpOperand &) { return true; });
          } else {
            for (auto [from, to] : fused->replacements)
              rewriter.replaceAllUsesWith(from, to);
          }
          if (consumerName) {
            std::string name = cast<StringAttr>(consumerName).str();
            if (producerName)
              name = cast<StringAttr>(producerName).str() + "+" + name;
            merged->setAttr(opAttrName, rewriter.getStringAttr(name));
          }
          rewriter.eraseOp(consumer);
          if (copy && copy->use_empty())
            rewriter.eraseOp(copy); // only the copy is erased here; the loop below erases producers
          fixedValues.update(merged);
          consumer = merged;
          changed = true;
          break;
        }
      }
      work[i] = consumer;
    }
    for (linalg::GenericOp op : llvm::reverse(work))
      if (op->use_empty())
        rewriter.eraseOp(op);
  }
};
} // namespace

} // namespace structured
} // namespace tilewright
