//===- SplitKAttention.cpp - --tw-split-k-attention: decoding steps for many threads ---------===//
//
// Before (8 heads, one query, 4096 keys; the option `threads` is 8):
//   %r, %l = tw.attention %q, %k, %v : tensor<1x8x1x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>
// After:
//   %q4 = tw.broadcast %q : tensor<4x8x1x64xbf16>
//   %k4 = tw.permute (tw.reshape %k : tensor<8x4x1024x64xbf16>) {permutation = [1, 0, 2, 3]}           // and %v4
//   %r4, %l4 = tw.attention %q4, %k4, %v4 : ... -> tensor<4x8x1x64xf32>, tensor<4x8x1xf32>
//   %w = tw.softmax %l4 {dim = 0, safe}
//   %r = tw.cast (tw.reduce sum %r4 * %w {dims = [0], keepdim})
//
// Each task of attention computes a block of rows of one head. With batch size 1, few rows and many keys, most threads
// would therefore be idle. The pass splits the keys into parts, which become the batch dimension. The weight of a
// part's result is computed from the part's log-sum-exp, and is 0 if all keys of the part are masked. The parts are
// views of the keys and values, for either order of heads and tokens in memory. Source: Dao et al., "Flash-Decoding for
// long-context inference", 2023.
//
// Parts have at least 512 keys. With the option `blocks`, for a GPU, they have at least 128 keys. The pass changes only
// attention without `causal`, whose shapes are static, with batch size 1, at most 4 rows (GPU: 16), elements other than
// f64 (GPU: bf16 or f16), and a log-sum-exp that is not used (inference). The last dimension of a mask must be the
// number of keys.
//
// Test: test/Graph/split-k-attention.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_SPLITKATTENTION
#include "tilewright/Passes.h.inc"
namespace graph {
namespace {

/// The conditions under which keys are split into parts.
struct Rule {
  int64_t mostRows, leastKeys; ///< of the attention; of a part
  int64_t tasks, enoughTasks;  ///< tasks without a split; the number at which no further split is necessary
};

/// Returns the rule for a CPU. There should be at least four tasks for each of `threads` threads. If several heads
/// share keys, there should be at least 16 tasks for each thread, because a part then stays in the caches for all heads
/// that read it.
Rule ruleOfThreads(int64_t heads, int64_t keyHeads, int64_t threads) {
  constexpr int64_t keysOfBlock = 512; // of the kernel
  return {/*mostRows=*/4, keysOfBlock, heads, (heads > keyHeads ? 16 : 4) * threads};
}

/// Returns the rule for a GPU, on which a block computes the rows of all query heads that share keys.
Rule ruleOfBlocks(int64_t keyHeads, int64_t blocks) { return {/*mostRows=*/16, /*leastKeys=*/128, keyHeads, blocks}; }

/// Returns the number of parts into which the keys are split: the smallest divisor of the number of keys for which
/// there are enough tasks, or the largest one for which the parts have enough keys. Returns 1 if the keys are not
/// split.
int64_t partsOfKeys(AttentionOp op, int64_t threads, int64_t blocks) {
  RankedTensorType q = tensorOf(op.getQuery()), k = tensorOf(op.getKey()), v = tensorOf(op.getValue());
  if (!q.hasStaticShape() || !k.hasStaticShape() || !v.hasStaticShape() || op.getCausal() ||
      !op.getLogsumexp().use_empty() || op.getNanRows() || q.getElementType().isF64())
    return 1;
  const int64_t heads = q.getDimSize(1), rows = q.getDimSize(2), keys = k.getDimSize(2), keyHeads = k.getDimSize(1);
  const Rule rule = blocks > 0 ? ruleOfBlocks(keyHeads, blocks) : ruleOfThreads(heads, keyHeads, threads);
  if (q.getDimSize(0) != 1 || k.getDimSize(0) != 1 || v.getDimSize(0) != 1 || heads < 1 || rows < 1 ||
      rows > rule.mostRows)
    return 1;
  // Tensor cores of GPUs compute attention of these types and head sizes. A group of lanes computes others.
  auto isTiled = [](int64_t size) { return size >= 8 && size <= 256 && size % 8 == 0; };
  if (blocks > 0 && (!(q.getElementType().isBF16() || q.getElementType().isF16()) || !isTiled(q.getDimSize(3)) ||
                     !isTiled(v.getDimSize(3))))
    return 1;
  if (op.getMask()) {
    RankedTensorType mask = tensorOf(op.getMask());
    if (!mask.hasStaticShape() || mask.getRank() == 0 || mask.getRank() > 4 || mask.getShape().back() != keys)
      return 1;
  }
  int64_t parts = 1;
  for (int64_t count = 2; parts * rule.tasks < rule.enoughTasks && keys / count >= rule.leastKeys; ++count)
    if (keys % count == 0)
      parts = count;
  return parts;
}

class KeySplitter {
public:
  KeySplitter(AttentionOp op, int64_t parts)
      : op(op), builder(op), loc(op.getLoc()), parts(parts), f32(builder.getF32Type()) {}

  void run() {
    ArrayRef<int64_t> q = tensorOf(op.getQuery()).getShape(), v = tensorOf(op.getValue()).getShape();
    const int64_t heads = q[1], rows = q[2], columns = v[3];
    Value query = BroadcastOp::create(builder, loc, typeOf({parts, heads, rows, q[3]}, op.getQuery()), op.getQuery());
    auto attention = AttentionOp::create(builder, loc,
                                         TypeRange{RankedTensorType::get({parts, heads, rows, columns}, f32),
                                                   RankedTensorType::get({parts, heads, rows}, f32)},
                                         query, inParts(op.getKey()), inParts(op.getValue()), maskInParts(),
                                         op.getScaleAttr(), /*causal=*/UnitAttr(), /*nan_rows=*/UnitAttr());
    attention->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    Value sums = attention.getLogsumexp();
    Value shares = SoftmaxOp::create(builder, loc, sums.getType(), sums, /*dim=*/0, /*log=*/false, /*safe=*/true);
    shares = ReshapeOp::create(builder, loc, RankedTensorType::get({parts, heads, rows, 1}, f32), shares);
    Value result = attention.getResult();
    result = MulOp::create(builder, loc, result.getType(), result, shares);
    result = ReduceOp::create(builder, loc, RankedTensorType::get({1, heads, rows, columns}, f32), result,
                              ReduceKindAttr::get(builder.getContext(), ReduceKind::Sum),
                              builder.getDenseI64ArrayAttr({0}), builder.getUnitAttr());
    if (op.getResult().getType() != result.getType())
      result = CastOp::create(builder, loc, op.getResult().getType(), result);
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

private:
  static RankedTensorType typeOf(ArrayRef<int64_t> sizes, Value like) {
    return RankedTensorType::get(sizes, tensorOf(like).getElementType());
  }
  Value permuted(Value value, ArrayRef<int64_t> permutation) {
    SmallVector<int64_t> sizes;
    for (int64_t dim : permutation)
      sizes.push_back(tensorOf(value).getDimSize(dim));
    return PermuteOp::create(builder, loc, typeOf(sizes, value), value, builder.getDenseI64ArrayAttr(permutation));
  }

  /// Returns a view of `value` (1 x heads x keys x size) with the shape parts x heads x keys / parts x size.
  Value inParts(Value value) {
    ArrayRef<int64_t> sizes = tensorOf(value).getShape();
    const int64_t heads = sizes[1], keys = sizes[2], size = sizes[3];
    auto permute = value.getDefiningOp<PermuteOp>();
    if (permute && permute.getPermutation() == ArrayRef<int64_t>{0, 2, 1, 3}) { // tokens first
      Value base = permute.getInput();
      return permuted(
          ReshapeOp::create(builder, loc, typeOf({parts, keys / parts, heads, size}, base), base).getResult(),
          {0, 2, 1, 3});
    }
    return permuted(
        ReshapeOp::create(builder, loc, typeOf({heads, parts, keys / parts, size}, value), value).getResult(),
        {1, 0, 2, 3});
  }

  Value maskInParts() {
    Value mask = op.getMask();
    if (!mask)
      return {};
    ArrayRef<int64_t> own = tensorOf(mask).getShape();
    SmallVector<int64_t> sizes(4 - own.size(), 1);
    llvm::append_range(sizes, own);
    const int64_t keys = sizes[3];
    Value cut = ReshapeOp::create(builder, loc, typeOf({sizes[1], sizes[2], parts, keys / parts}, mask), mask);
    return permuted(cut, {2, 0, 1, 3});
  }

  AttentionOp op;
  OpBuilder builder;
  Location loc;
  int64_t parts;
  Type f32;
};

} // namespace
} // namespace graph

namespace {
struct SplitKAttention : impl::SplitKAttentionBase<SplitKAttention> {
  using SplitKAttentionBase::SplitKAttentionBase;
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    SmallVector<graph::AttentionOp> found;
    getOperation().walk([&](graph::AttentionOp op) { found.push_back(op); });
    for (graph::AttentionOp op : found)
      if (int64_t parts = graph::partsOfKeys(op, threads, blocks); parts > 1)
        graph::KeySplitter(op, parts).run();
  }
};
} // namespace
} // namespace tilewright
