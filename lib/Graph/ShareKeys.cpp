//===- ShareKeys.cpp - --tw-share-keys: attention without repeated keys ----------------------===//
//
// Before (grouped-query attention as models spell it: 8 heads of keys are repeated for 32 heads of queries):
//   %1 = tw.broadcast (tw.reshape %k) : tensor<1x8x1x1024x128xbf16> -> tensor<1x8x4x1024x128xbf16>
//   %2 = tw.reshape %1 : tensor<1x32x1024x128xbf16>                                                 // and values
//   %r, %l = tw.attention %q, %2, %v2 : tensor<1x32x1x128xbf16>, tensor<1x32x1024x128xbf16>, ...
// After:
//   %r, %l = tw.attention %q, %k, %v : tensor<1x32x1x128xbf16>, tensor<1x8x1024x128xbf16>, ...
//
// Attention reads the keys of query head h from key head h / (H / Hk), which is the order of the repetition. The
// repeated keys and values need not be computed, and each key is read once for all query heads of its group.
//
// Test: test/Graph/share-keys.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_SHAREKEYS
#include "tilewright/Passes.h.inc"
namespace graph {
namespace {

/// If `value` (B x H x S x D) consists of heads that are repeated for adjacent query heads, returns the tensor
/// B x Hk x 1 x S x D before the repetition. Otherwise returns null.
Value beforeRepetition(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto broadcast = reshape ? reshape.getInput().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!broadcast)
    return {};
  constexpr size_t heads = 1, copies = 2; // dimensions of the tensor before the reshape
  const SmallVector<AffineExpr> once = sizesOf(broadcast.getInput()), repeated = sizesOf(broadcast.getResult()),
                                all = sizesOf(value);
  if (repeated.size() != 5 || once.size() != 5 || all.size() != 4 || !isUnitSize(once[copies]) ||
      isUnitSize(repeated[copies]))
    return {};
  for (size_t dim = 0; dim < once.size(); ++dim)
    if (dim != copies && once[dim] != repeated[dim])
      return {};
  const bool joinsHeads = all[0] == repeated[0] && all[heads] == canonicalSize(repeated[heads] * repeated[copies]) &&
                          all[2] == repeated[3] && all[3] == repeated[4];
  return joinsHeads ? broadcast.getInput() : Value();
}

void shareKeys(AttentionOp op) {
  const Value key = beforeRepetition(op.getKey()), value = beforeRepetition(op.getValue());
  if (!key || !value || sizesOf(key)[1] != sizesOf(value)[1])
    return;
  OpBuilder builder(op);
  auto withoutCopies = [&](Value from) -> Value {
    SmallVector<AffineExpr> sizes = sizesOf(from);
    sizes.erase(sizes.begin() + 2);
    return ReshapeOp::create(builder, op.getLoc(), tensorWithSizes(sizes, elementOf(from)), from);
  };
  op.getKeyMutable().assign(withoutCopies(key));
  op.getValueMutable().assign(withoutCopies(value));
}

} // namespace
} // namespace graph

namespace {
struct ShareKeys : impl::ShareKeysBase<ShareKeys> {
  using ShareKeysBase::ShareKeysBase;
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    getOperation().walk(graph::shareKeys);
  }
};
} // namespace
} // namespace tilewright
