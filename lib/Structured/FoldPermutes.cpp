//===- FoldPermutes.cpp - attention reads permuted operands in place ----------------===//
//
// Before:  %q2 = linalg.generic {permute 0, 2, 1, 3} ins(%q: B x L x H x D) ; tw_tile.attention ins(%q2, ...)
// After:   tw_tile.attention {permutations = [0, 2, 1, 3, ...]} ins(%q, ...)
//
// The same for the result when its one user permutes it. Heads split from a row of features are thus read through
// strides, and the result is written where the next product reads it.
//
// Test: test/Structured/fold-permutes.mlir
//
//===----------------------------------------------------------------------===//
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_FOLDPERMUTES
#include "tilewright/Passes.h.inc"
namespace structured {
namespace {

/// The input map of `op` if it only permutes one operand (identity output map, body yields the input).
std::optional<AffineMap> permutationOf(linalg::GenericOp op) {
  if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0)
    return std::nullopt;
  auto yielded = dyn_cast<BlockArgument>(op.getBody()->getTerminator()->getOperand(0));
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!yielded || yielded.getArgNumber() != 0 || !maps[0].isPermutation() || !maps[1].isIdentity())
    return std::nullopt;
  return maps[0];
}

struct FoldPermutes : impl::FoldPermutesBase<FoldPermutes> {
  void runOnOperation() override {
    SmallVector<tile::AttentionOp> ops;
    getOperation().walk([&](tile::AttentionOp op) { ops.push_back(op); });
    for (tile::AttentionOp op : ops)
      fold(op);
  }

  void fold(tile::AttentionOp op) {
    OpBuilder builder(op);
    SmallVector<int64_t> permutations;
    for (int i = 0; i < 4; ++i)
      permutations.append({0, 1, 2, 3});
    SmallVector<Value> inputs(op.getInputs());
    for (int which = 0; which < 3; ++which) {
      auto permute = inputs[which].getDefiningOp<linalg::GenericOp>();
      std::optional<AffineMap> map = permutationOf(permute);
      // Loop d of the permute is canonical dimension d; it lies where the input map reads it. Columns stay last.
      if (!map || cast<AffineDimExpr>(map->getResult(3)).getPosition() != 3)
        continue;
      for (auto [at, expr] : llvm::enumerate(map->getResults()))
        permutations[which * 4 + cast<AffineDimExpr>(expr).getPosition()] = at;
      inputs[which] = permute.getInputs()[0];
    }
    SmallVector<Value> outputs(op.getOutputs());
    linalg::GenericOp after;
    if (op.getResult(0).hasOneUse())
      after = dyn_cast<linalg::GenericOp>(*op.getResult(0).getUsers().begin());
    std::optional<AffineMap> map = permutationOf(after);
    if (map && after.getIndexingMapsArray()[0].getResult(3) == builder.getAffineDimExpr(3) &&
        after.getOutputs()[0].getDefiningOp<tensor::EmptyOp>()) {
      // Dimension j of attention's result is loop map(j) of the permute, that is dimension map(j) of its result.
      for (auto [dim, expr] : llvm::enumerate(map->getResults()))
        permutations[12 + dim] = cast<AffineDimExpr>(expr).getPosition();
      outputs[0] = after.getOutputs()[0];
      if (Operation *empty = outputs[0].getDefiningOp(); !empty->isBeforeInBlock(op))
        empty->moveBefore(op);
    } else {
      after = nullptr;
    }
    auto made = tile::AttentionOp::create(builder, op.getLoc(), TypeRange(ValueRange(outputs)), inputs, op.getFirstRow(),
                                          outputs, op.getScaleAttr(), op.getCausalAttr(),
                                          builder.getDenseI64ArrayAttr(permutations));
    made->setDiscardableAttrs(llvm::to_vector(op->getDiscardableAttrs()));
    op.getResult(1).replaceAllUsesWith(made.getResult(1));
    (after ? after.getResult(0) : op.getResult(0)).replaceAllUsesWith(made.getResult(0));
    if (after)
      after.erase();
    op.erase();
  }
};
} // namespace
} // namespace structured
} // namespace tilewright
