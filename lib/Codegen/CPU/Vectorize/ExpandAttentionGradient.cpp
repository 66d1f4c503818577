//===- ExpandAttentionGradient.cpp - the gradient of attention, without its score matrix in memory -===//
//
// Before:  tw_tile.attention_gradient {scale} ins(%q, %k, %v, %o, %do, %lse [, %mask])
//            outs(%dq, %dk, %dv)                                      // one batch element, one head
// After:
//   delta = rowsum(do * o)
//   for blocks of keys {
//     dk = dv = 0
//     for blocks of rows {
//       s = q k^T ; dp = do v^T
//       p = exp(scale * s + mask - lse) and ds = p * (dp - delta) * scale in one pass
//       dv += p^T do ; dk += ds^T q ; dq += ds k } }
//
// If operands are packed in pairs of k, the transposed products dv^T += do^T p and dk^T += q^T ds are computed instead.
// In these products, p and ds are packed as right-hand sides, and only q and do, which have few columns, are
// transposed. In the original products, the left-hand sides p^T and ds^T would be read element by element.
//
// Only tiles (rows x keys) of the scores and of their gradients are stored. Values that the forward pass did not save
// are recomputed. Each block of keys is processed once. If there is a causal mask, blocks of rows that attend to no key
// of the block are skipped. Source: Dao et al., "FlashAttention", 2022, algorithm 4.
//
// Test: test/Codegen/CPU/Vectorize/expand-attention-gradient.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Vectorize/AttentionEmitter.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::vector_stage {
namespace {

/// The maximum numbers of rows and keys of a tile of scores. An L2 cache can contain two such tiles and the panels by
/// which they are multiplied.
constexpr int64_t gradientRows = 128, gradientKeys = 256;

class AttentionGradientExpander : AttentionEmitter {
public:
  AttentionGradientExpander(tile::AttentionGradientOp op, const ExpandAttentionOptions &options)
      : AttentionEmitter(op, op.getInputs(), op.getInputs().size() == 7 ? op.getInputs()[6] : Value(), op.getCausal(),
                         op.getScale().convertToDouble(), op.getPermutations(), options),
        op(op) {}

  LogicalResult run() {
    if (!element.isF32() && !element.isBF16() && !element.isF16())
      return op.emitOpError("expected f32, bf16 or f16 operands, got ") << element;
    if (cast<ShapedType>(op.getInputs()[3].getType()).getRank() != 4)
      return op.emitOpError("reads sum(dO * O) instead of the result O, which target cpu does not support; lower the "
                            "graph without the option attention-delta of tw-lower-graph, or compile it for cuda");
    SmallVector<Value> matrices;
    for (int64_t operand = 0; operand < 8; ++operand)
      matrices.push_back(matrix(operand < 5 ? op.getInputs()[operand] : op.getOutputs()[operand - 5], operand));
    if (llvm::is_contained(matrices, Value()))
      return op.emitOpError("expected rows before columns in every operand");
    q = matrices[0], k = matrices[1], v = matrices[2], grad = matrices[4];
    rows = size(q, 0), keys = size(k, 0);
    std::optional<int64_t> staticRows = getConstantIntValue(rows), staticKeys = getConstantIntValue(keys);
    const int64_t rowBlock = std::min(staticRows.value_or(gradientRows), gradientRows),
                  keysAtOnce = std::min(staticKeys.value_or(gradientKeys), gradientKeys);
    const bool oneRowBlock = staticRows && *staticRows <= rowBlock,
               oneKeyBlock = staticKeys && *staticKeys <= keysAtOnce;
    OpFoldResult r = fold(rowBlock), c = fold(keysAtOnce), width = size(q, 1), columns = size(v, 1);

    scores = scoreBuffer(r, keysAtOnce, f32);
    slopes = scoreBuffer(r, keysAtOnce, f32);
    if (group > 1) { // the operands of a product in pairs of k must have the same type
      weights = scoreBuffer(r, keysAtOnce, element);
      steps = scoreBuffer(r, keysAtOnce, element);
    }
    Value keyColumns = panelBuffer(width, c, element), valueColumns = panelBuffer(columns, c, element),
          keyRows = panelBuffer(c, width, element);
    const bool transposed = sumsAreTransposed();
    if (!transposed) {
      queryRows = panelBuffer(r, width, element);
      gradRows = panelBuffer(r, columns, element);
    }
    // If the products of a block of keys are computed in transposed form, the sums to which they are added are
    // transposed, too.
    auto sums = [&](OpFoldResult of) { return transposed ? alloc({of, c}) : alloc({c, of}); };
    Value dq = alloc({rows, width}), dk = sums(width), dv = sums(columns);
    if (!oneKeyBlock)
      partQ = alloc({r, width});
    if (!oneRowBlock) {
      partK = sums(width);
      partV = sums(columns);
    }
    if (transposed) {
      queryTransposed = alloc({width, r}, element);
      gradTransposed = alloc({columns, r}, element);
      weightRows = panelBuffer(r, c, element);
    }
    rowStatistics(matrices[3]);
    if (!oneKeyBlock)
      fill(dq, 0);

    overRowBlocks(keys, keysAtOnce, [&](Value kb, OpFoldResult number) {
      Value kBlock = keyBlock = rowsOf(k, kb, number);
      Value kT = packed(kBlock, keyColumns, /*columnsFirst=*/true),
            vT = packed(rowsOf(v, kb, number), valueColumns, /*columnsFirst=*/true),
            kN = packed(kBlock, keyRows, /*columnsFirst=*/false);
      Value sumK = firstKeys(dk, number), sumV = firstKeys(dv, number);
      if (!oneRowBlock) {
        fill(sumK, 0);
        fill(sumV, 0);
      }
      Value from; // start of the first block of rows that attend to these keys
      if (causal && !oneRowBlock)
        from = index(affine::makeComposedFoldedAffineApply(
            builder, loc,
            AffineMap::get(1, 0, builder.getAffineDimExpr(0).floorDiv(rowBlock) * rowBlock, builder.getContext()),
            {OpFoldResult(kb)}));
      overRowBlocks(
          rows, rowBlock,
          [&](Value rb, OpFoldResult count) { block(kb, number, rb, count, kT, vT, kN, sumK, sumV, dq); }, from);
      write(sumK, rowsOf(matrices[6], kb, number), transposed);
      write(sumV, rowsOf(matrices[7], kb, number), transposed);
    });
    write(dq, matrices[5], /*across=*/false);
    op.erase();
    return success();
  }

private:
  /// Returns true if the gradients of a block of keys and values are computed in transposed form.
  bool sumsAreTransposed() const { return group > 1; }

  /// Returns true if weights are powers of e, and false if they are powers of 2. They are powers of e in f32, or if a
  /// mask is added. If one key has the whole weight of a row in f32, its score must be rounded in the same way as the
  /// row's log-sum-exp. Their difference is then exactly 0, and the weight is 1. Therefore, if no mask is added,
  /// block() limits scores to the log-sum-exp. The limit also prevents LLVM from contracting the product and the
  /// difference to an FMA, which would use the unrounded product.
  bool isNatural() const { return addsMask() || element.isF32(); }

  /// Returns the part of `sums` for the first `number` keys of a block.
  Value firstKeys(Value sums, OpFoldResult number) {
    return sumsAreTransposed() ? slice(sums, {fold(0), fold(0)}, {size(sums, 0), number})
                               : rowsOf(sums, index(fold(0)), number);
  }

  /// Computes two values for each row: `base`, which is subtracted from the scores, and `delta`, which is subtracted
  /// from the gradients of the row's weights.
  void rowStatistics(Value result) {
    Value lse = view(op.getInputs()[5], {0, 1});
    base = alloc({rows});
    delta = alloc({rows});
    // The base is an exponent of 2, or of e if isNatural(). If a row attends to no key, its base is infinite, which
    // makes all weights of the row 0.
    elementwise({lse}, base, 1, [&](OpBuilder &b, Location at, ValueRange in) -> Value {
      Value infinity = number(b, at, std::numeric_limits<double>::infinity());
      Value none =
          arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, math::AbsFOp::create(b, at, in[0]), infinity);
      Value sum = arith::MulFOp::create(b, at, in[0], number(b, at, isNatural() ? 1 : llvm::numbers::log2e));
      return arith::SelectOp::create(b, at, none, infinity, sum);
    });
    sumProducts(result, grad, delta, {"ij", "ij"}, "i", 2);
  }

  /// Computes one tile: `count` rows starting at row `rb`, and `number` keys starting at key `kb`. Scores are computed
  /// by the same operations as in the forward pass, so that they are rounded equally.
  void block(Value kb, OpFoldResult number, Value rb, OpFoldResult count, Value kT, Value vT, Value kN, Value sumK,
             Value sumV, Value dq) {
    Value qBlock = rowsOf(q, rb, count), gBlock = rowsOf(grad, rb, count);
    auto tileOf = [&](Value buffer) { return slice(buffer, {fold(0), fold(0)}, {count, number}); };
    Value s = tileOf(scores), dp = tileOf(slopes), p = weights ? tileOf(weights) : s, ds = steps ? tileOf(steps) : dp;
    if (group == 1 && getConstantIntValue(rows).value_or(fewRows + 1) <= fewRows)
      sumProducts(qBlock, keyBlock, s, {"ik", "jk"}, "ij", 3);
    else
      multiply(qBlock, kT, s);
    multiply(gBlock, vT, dp);
    const int64_t rowsAtOnce = rowsOfScores(cast<MemRefType>(scores.getType()).getDimSize(1));
    overRowBlocks(count, rowsAtOnce, [&](Value first, OpFoldResult some) {
      Value row = arith::AddIOp::create(builder, loc, rb, first);
      auto part = [&](Value tile) { return slice(tile, {first, fold(0)}, {some, number}); };
      SmallVector<Value> ins{part(s), part(dp), slice(base, {row}, {some}), slice(delta, {row}, {some})};
      SmallVector<StringRef> maps{"ij", "ij", "i", "i"};
      readMask(row, some, kb, number, ins, maps);
      generic(ins, {part(p), part(ds)}, maps, {"ij", "ij"}, 2, [&](OpBuilder &b, Location at, ValueRange in) {
        auto contract = arith::FastMathFlags::contract;
        Value x =
            score(b, at, in[0], scale * (isNatural() ? 1 : llvm::numbers::log2e), mask ? in[4] : Value(), row, kb);
        if (isNatural() && !addsMask()) {
          Value above = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OGT, x, in[2]);
          x = arith::SelectOp::create(b, at, above, in[2], x);
        }
        x = arith::SubFOp::create(b, at, x, in[2]);
        Value weight = power(b, at, x, isNatural());
        Value step = arith::MulFOp::create(b, at, arith::SubFOp::create(b, at, in[1], in[3]),
                                           AttentionEmitter::number(b, at, scale), contract);
        step = arith::MulFOp::create(b, at, weight, step);
        if (group > 1) {
          weight = arith::TruncFOp::create(b, at, element, weight);
          step = arith::TruncFOp::create(b, at, element, step);
        }
        linalg::YieldOp::create(b, at, {weight, step});
      });
    });
    accumulate(ds, kN, partQ ? rowsOf(partQ, index(fold(0)), count) : Value(), rowsOf(dq, rb, count));
    Value pairsV = partV ? firstKeys(partV, number) : Value(), pairsK = partK ? firstKeys(partK, number) : Value();
    if (!sumsAreTransposed()) {
      accumulate(p, packed(gBlock, gradRows, /*columnsFirst=*/false), pairsV, sumV, /*depthFirst=*/true);
      accumulate(ds, packed(qBlock, queryRows, /*columnsFirst=*/false), pairsK, sumK, /*depthFirst=*/true);
      return;
    }
    auto transpose = [&](Value block, Value buffer) {
      Value to = slice(buffer, {fold(0), fold(0)}, {size(block, 1), count});
      generic({block}, {to}, {"ji"}, {"ij"}, 2,
              [](OpBuilder &b, Location at, ValueRange in) { linalg::YieldOp::create(b, at, in[0]); });
      return to;
    };
    accumulate(transpose(gBlock, gradTransposed), packed(p, weightRows, /*columnsFirst=*/false), pairsV, sumV);
    accumulate(transpose(qBlock, queryTransposed), packed(ds, weightRows, /*columnsFirst=*/false), pairsK, sumK);
  }

  /// Adds `a` * b to `sum`, where b is the matrix in `panels`. The product is first stored in `part`. If `part` is
  /// null, the product replaces `sum` instead. `depthFirst` is as in multiply().
  void accumulate(Value a, Value panels, Value part, Value sum, bool depthFirst = false) {
    multiply(a, panels, part ? part : sum, depthFirst);
    if (part)
      elementwise({part}, sum, 2, [](OpBuilder &b, Location at, ValueRange in) -> Value {
        return arith::AddFOp::create(b, at, in[1], in[0]);
      });
  }

  /// Converts `sum` to the type of `to`, and writes it to `to`, transposed if `across` is set.
  void write(Value sum, Value to, bool across) {
    Type type = elementOf(to);
    generic({sum}, {to}, {across ? "ji" : "ij"}, {"ij"}, 2, [&](OpBuilder &b, Location at, ValueRange in) {
      linalg::YieldOp::create(b, at, type.isF32() ? in[0] : arith::TruncFOp::create(b, at, type, in[0]).getResult());
    });
  }

  tile::AttentionGradientOp op;
  Value q, k, v, grad;
  Value keyBlock; ///< the current block of keys, not packed
  OpFoldResult rows, keys;
  Value base, delta; ///< one element per row
  /// Tiles of s, dp, p and ds; the last two are null if p and ds overwrite s and dp.
  Value scores, slopes, weights, steps;
  Value queryRows, gradRows, weightRows; ///< scratch memory for panels
  Value queryTransposed, gradTransposed;
  Value partQ, partK, partV; ///< temporary products; null if one block computes the whole sum
};

} // namespace

LogicalResult expandAttentionGradient(tile::AttentionGradientOp op, const ExpandAttentionOptions &options) {
  return AttentionGradientExpander(op, options).run();
}

} // namespace tilewright::vector_stage
