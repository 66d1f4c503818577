//===- ExpandAttention.cpp - attention as online softmax over blocks of keys ------===//
//
// Before:  tw_tile.attention {scale} ins(%q, %k, %v [, %mask]) outs(%o, %lse)   // one batch element, one head, L rows
// After:
//   m = -inf; l = 0; acc = 0
//   scf.for %kb = 0 to S step B {
//     s = tw_tile.matmul(q, pack(k block)) ; s = s * scale + mask and m' = max(m, rowmax s) in one pass
//     c = exp(m - m') ; p = exp(s - m') and l = l * c + rowsum p in one pass
//     acc = acc * c + tw_tile.matmul(p, pack(v block)) ; m = m' }
//   o = acc / l ; lse = m + log l
//
// If there are few rows, as in a decoding step, keys and values are read once, from their buffers without packing.
// Scores are stored for only a few rows and one block of keys at a time. If a row attends to no key, its row of o is 0.
// If there is a causal mask and the rows are tiled (first_row), the loop over keys ends at the last block to which a
// row of the tile attends. Sources: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et
// al., "FlashAttention", 2022.
//
// Test: test/Codegen/CPU/Vectorize/expand-attention.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Tile/Blocks.h"
#include "lib/Codegen/CPU/Vectorize/AttentionEmitter.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "tilewright/StageContract.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EXPANDATTENTION
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

class AttentionExpander : AttentionEmitter {
public:
  AttentionExpander(tile::AttentionOp op, const ExpandAttentionOptions &options)
      : AttentionEmitter(op, op.getInputs(), op.getInputs().size() == 4 ? op.getInputs()[3] : Value(), op.getCausal(),
                         op.getScale().convertToDouble(), op.getPermutations(), options),
        op(op) {
    firstRow = op.getFirstRow();
    unit = addsMask() ? Unit::Natural : mask || causal || !(scale > 0) ? Unit::Binary : Unit::Raw;
  }

  LogicalResult run() {
    for (Value input : op.getInputs().take_front(3))
      if (!elementOf(input).isF32() && !elementOf(input).isBF16() && !elementOf(input).isF16())
        return op.emitOpError("expected f32, bf16 or f16 operands, got ") << elementOf(input);
    Value q = matrix(op.getInputs()[0], 0), k = matrix(op.getInputs()[1], 1), v = matrix(op.getInputs()[2], 2);
    Value out = matrix(op.getOutputs()[0], 3);
    Value lse = view(op.getOutputs()[1], {0, 1});
    if (!q || !k || !v || !out)
      return op.emitOpError("expected rows before columns in every operand");
    OpFoldResult rows = size(q, 0), keys = size(k, 0), columns = size(v, 1);
    std::optional<int64_t> staticKeys = getConstantIntValue(keys);
    auto kernel = op->getParentOfType<func::FuncOp>();
    const int64_t mostKeys = schedule::knobOr(kernel, &schedule::CpuScheduleAttr::getKeys, tile::attentionKeys),
                  scoreRows = schedule::knobOr(kernel, &schedule::CpuScheduleAttr::getScores, tile::attentionRows);
    int64_t block = staticKeys ? std::min(*staticKeys, mostKeys) : mostKeys;
    once = staticKeys && *staticKeys <= mostKeys;

    // Scores and weights are computed for a few rows at a time, so that they stay in the cache together with the packed
    // panels of keys and values.
    OpFoldResult few = fold(std::min(scoreRows, getConstantIntValue(rows).value_or(scoreRows)));
    direct = getConstantIntValue(rows).value_or(scoreRows) <= (group > 1 ? fewRowsOfPairs : fewRows);
    if (direct)
      group = depth = 1;
    Value scores = scoreBuffer(few, block, f32), packedK, packedV;
    if (!direct) {
      packedK = panelBuffer(size(q, 1), fold(block), elementOf(k));
      packedV = panelBuffer(fold(block), columns, elementOf(v));
    }
    // If operands are packed in groups of k, both operands of the second product must have the same type.
    Value weights = group == 1 ? Value() : scoreBuffer(few, block, element);
    Value m = alloc({rows}), l = alloc({rows}), next = alloc({few}), acc = alloc({rows, columns}),
          parts = once ? Value() : alloc({few, columns});
    fill(m, -std::numeric_limits<float>::infinity());
    fill(l, 0);
    if (!once)
      fill(acc, 0);

    auto step = [&](Value kb, OpFoldResult width) {
      Value kBlock = rowsOf(k, kb, width), vBlock = rowsOf(v, kb, width);
      if (!direct) {
        kBlock = packed(kBlock, packedK, /*columnsFirst=*/true);
        vBlock = packed(vBlock, packedV, /*columnsFirst=*/false);
      }
      overRowBlocks(rows, scoreRows, [&](Value from, OpFoldResult number) {
        Value s = slice(scores, {fold(0), fold(0)}, {number, width});
        Value p = weights ? slice(weights, {fold(0), fold(0)}, {number, width}) : s;
        Value top = slice(m, {from}, {number}), sums = slice(l, {from}, {number}),
              newTop = slice(next, {fold(0)}, {number});
        product(rowsOf(q, from, number), kBlock, s, /*columnsFirst=*/true);
        overRowBlocks(number, rowsOfScores(block), [&](Value first, OpFoldResult count) {
          Value row = arith::AddIOp::create(builder, loc, from, first);
          softmaxRows(slice(s, {first, fold(0)}, {count, width}),
                      weights ? slice(p, {first, fold(0)}, {count, width}) : Value(), slice(top, {first}, {count}),
                      slice(sums, {first}, {count}), slice(newTop, {first}, {count}), row, count, kb, width);
        });
        // Emit acc = acc * exp(m - m') + p v.
        Value sum = slice(acc, {from, fold(0)}, {number, columns});
        Value added = once ? sum : slice(parts, {fold(0), fold(0)}, {number, columns});
        product(p, vBlock, added, /*columnsFirst=*/false);
        if (!once)
          generic({added, top}, {sum}, {"ij", "i"}, {"ij"}, 2, [](OpBuilder &b, Location at, ValueRange in) {
            Value kept = arith::MulFOp::create(b, at, in[2], in[1], arith::FastMathFlags::contract);
            linalg::YieldOp::create(
                b, at, arith::AddFOp::create(b, at, kept, in[0], arith::FastMathFlags::contract).getResult());
          });
        elementwise({newTop}, top, 1, [](OpBuilder &, Location, ValueRange in) { return in[0]; });
      });
    };
    if (once) {
      step(index(fold(0)), keys);
    } else {
      AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1), d2 = builder.getAffineDimExpr(2);
      OpFoldResult last = keys;
      if (causal && firstRow)
        last =
            affine::makeComposedFoldedAffineMin(builder, loc, AffineMap::get(3, 0, {d0, d1 + d2}, builder.getContext()),
                                                {keys, OpFoldResult(firstRow), rows});
      auto loop = scf::ForOp::create(builder, loc, index(fold(0)), index(last), index(fold(block)));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      step(loop.getInductionVar(), blockSize(loop.getInductionVar(), keys, block));
    }
    // If a row attends to no key, l = 0 and acc = 0. The result of such a row is 0, or, with `nan_rows`, 0 * NaN.
    Type outElement = elementOf(out);
    generic({acc, l}, {out}, {"ij", "i"}, {"ij"}, 2, [&](OpBuilder &b, Location at, ValueRange in) {
      Value zero = number(b, at, 0), one = number(b, at, 1);
      Value none = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, in[1], zero);
      Value ofNone = op.getNanRows() ? number(b, at, std::numeric_limits<double>::quiet_NaN()) : one;
      Value share = arith::DivFOp::create(b, at, one, arith::SelectOp::create(b, at, none, ofNone, in[1]));
      Value value = arith::MulFOp::create(b, at, in[0], share);
      if (!outElement.isF32())
        value = arith::TruncFOp::create(b, at, outElement, value);
      linalg::YieldOp::create(b, at, value);
    });
    elementwise({m, l}, lse, 1, [&](OpBuilder &b, Location at, ValueRange in) -> Value {
      double factor = unit == Unit::Raw ? scale : unit == Unit::Binary ? llvm::numbers::ln2 : 1;
      Value best = arith::MulFOp::create(b, at, in[0], number(b, at, factor));
      return arith::AddFOp::create(b, at, best, math::LogOp::create(b, at, in[1]));
    });
    op.erase();
    return success();
  }

private:
  /// Computes `to` = `a` * `b`. `b` is packed in panels, unless there are few rows (`direct`). If `columnsFirst` is
  /// set, an unpacked `b` is stored transposed, as columns x k.
  void product(Value a, Value b, Value to, bool columnsFirst) {
    if (!direct)
      return multiply(a, b, to);
    sumProducts(a, b, to, {"ik", columnsFirst ? "jk" : "kj"}, "ij", 3);
  }

  /// Returns the maximum of a score and `best`. The maximum may ignore NaN, because the sum of a row with a NaN score
  /// is NaN.
  static Value greater(OpBuilder &b, Location at, Value x, Value best) {
    return arith::MaxNumFOp::create(b, at, best, x, arith::FastMathFlags::nsz);
  }

  /// Returns the weight of a score before the division by the row's sum, where `best` is the row's maximum.
  Value weightOf(OpBuilder &b, Location at, Value score, Value best) {
    Value x = arith::SubFOp::create(b, at, score, finite(b, at, best));
    if (unit == Unit::Raw)
      x = arith::MulFOp::create(b, at, x, number(b, at, scale * llvm::numbers::log2e));
    return power(b, at, x, unit == Unit::Natural);
  }

  /// Replaces the scores `s` of `count` rows, starting at row `first`, by the weights e^(s - m'). If `p` is not null,
  /// converts the weights to the element type of `p` and stores them in `p` instead of in `s`. Updates the row sums
  /// `l`, replaces `m` by e^(m - m'), and writes the new maximum m' to `next`.
  void softmaxRows(Value s, Value p, Value m, Value l, Value next, Value first, OpFoldResult count, Value kb,
                   OpFoldResult width) {
    // Compute the new maximum of each row.
    elementwise({m}, next, 1, [](OpBuilder &, Location, ValueRange in) { return in[0]; });
    if (unit == Unit::Raw)
      reduce(s, next, greater);
    else
      scaleAndMask(s, next, first, count, kb, width);
    // Scale the current sum by e^(m - m'), where m' is replaced by 0 in a row that has only -inf.
    elementwise({m, next}, m, 1,
                [&](OpBuilder &b, Location at, ValueRange in) -> Value { return weightOf(b, at, in[0], in[1]); });
    elementwise({l, m}, l, 1, [](OpBuilder &b, Location at, ValueRange in) -> Value {
      return arith::MulFOp::create(b, at, in[0], in[1]);
    });
    // Compute the weights and their sum in one pass.
    Value weight = p ? p : s;
    generic(
        {s, next}, {weight, l}, {"ij", "i"}, {"ij", "i"}, 2,
        [&](OpBuilder &b, Location at, ValueRange in) {
          Value x = weightOf(b, at, in[0], in[1]);
          Value sum = arith::AddFOp::create(b, at, x, in[3]);
          linalg::YieldOp::create(b, at, {p ? arith::TruncFOp::create(b, at, element, x).getResult() : x, sum});
        },
        /*reduceLast=*/true);
  }

  /// Scales and masks the scores `s` in place, and replaces each element of `next` by the maximum of itself and the
  /// scores of its row.
  void scaleAndMask(Value s, Value next, Value first, OpFoldResult count, Value kb, OpFoldResult width) {
    SmallVector<Value> ins;
    SmallVector<StringRef> maps;
    readMask(first, count, kb, width, ins, maps);
    generic(
        ins, {s, next}, maps, {"ij", "i"}, 2,
        [&](OpBuilder &b, Location at, ValueRange in) {
          const double factor = scale * (unit == Unit::Binary ? llvm::numbers::log2e : 1);
          Value best = in.back(), x = in.drop_back().back();
          x = score(b, at, x, factor, mask ? in[0] : Value(), first, kb);
          linalg::YieldOp::create(b, at, {x, greater(b, at, x, best)});
        },
        /*reduceLast=*/true);
  }

  tile::AttentionOp op;
  /// The unit of scores and of their maxima. Raw: scores are the unscaled results of the product. The maximum is
  /// subtracted from a score before the difference is scaled, so that the difference is exactly 0 for the maximum. Raw
  /// is used if no score is masked and the scale is positive. Binary: scores are exponents of 2, because e^x = 2^(x
  /// log2 e). Natural: scores are exponents of e. Natural is used if a mask is added. The mask may contain the lowest
  /// finite number, which must not be scaled, so that a row whose scores all have this number still has weights.
  enum class Unit { Raw, Binary, Natural } unit;
  bool once = false;   ///< true: there is only one block of keys
  bool direct = false; ///< true: there are few rows, so keys and values are read without packing
};

struct ExpandAttention : impl::ExpandAttentionBase<ExpandAttention> {
  using ExpandAttentionBase::ExpandAttentionBase;
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    const ExpandAttentionOptions options{bf16Group, bf16Depth, f16Group, f16Depth};
    SmallVector<tile::AttentionOp> ops;
    getOperation().walk([&](tile::AttentionOp op) { ops.push_back(op); });
    for (tile::AttentionOp op : ops)
      if (failed(AttentionExpander(op, options).run()))
        return signalPassFailure();
    SmallVector<tile::AttentionGradientOp> gradients;
    getOperation().walk([&](tile::AttentionGradientOp op) { gradients.push_back(op); });
    for (tile::AttentionGradientOp op : gradients)
      if (failed(expandAttentionGradient(op, options)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace vector_stage
} // namespace tilewright
