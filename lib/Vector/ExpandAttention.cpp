//===- ExpandAttention.cpp - attention as online softmax over blocks of keys ------===//
//
// Before:  tw_tile.attention {scale} ins(%q, %k, %v [, %mask]) outs(%o, %lse)       // one batch, one head, L rows
// After:
//   m = -inf; l = 0; acc = 0
//   scf.for %kb = 0 to S step B {
//     s = tw_tile.matmul(q, pack(k block)) ; s = s * scale + mask and m' = max(m, rowmax s) in one pass
//     c = exp(m - m') ; p = exp(s - m') and l = l * c + rowsum p in one pass
//     acc = acc * c + tw_tile.matmul(p, pack(v block)) ; m = m' }
//   o = acc / l ; lse = m + log l
//
// A few rows, a step of decoding, read keys and values once, where they lie. Scores are one L x B tile, never the
// whole matrix. A row that attends to nothing gives zeros. Causal tiles stop at the last block they see. Source:
// Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022.
//
// Test: test/Vector/expand-attention.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "tilewright/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EXPANDATTENTION
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

constexpr int64_t keyBlock = 512; ///< columns of scores at a time
constexpr int64_t panel = 32;     ///< of the packed keys and values
/// Not worth packing keys and values for: those of a step of decoding; fewer where packed pairs go to fast products.
constexpr int64_t fewRows = 4, fewRowsOfPairs = 2;
constexpr int64_t scoreRows = 32; ///< rows of scores at a time: two tiles of the matrix unit

class AttentionExpander {
public:
  AttentionExpander(tile::AttentionOp op, const ExpandAttentionOptions &options)
      : op(op), builder(op), loc(op.getLoc()), f32(builder.getF32Type()), element(elementOf(op.getInputs()[0])),
        scale(op.getScale().convertToDouble()) {
    bool added = op.getInputs().size() == 4 && !elementOf(op.getInputs()[3]).isInteger(8);
    bool masked = op.getInputs().size() == 4 || op.getCausal();
    unit = added ? Unit::Natural : masked || !(scale > 0) ? Unit::Binary : Unit::Raw;
    group = element.isBF16() ? options.bf16Group : element.isF16() ? options.f16Group : 1;
    depth = group == 1 ? 1 : element.isBF16() ? options.bf16Depth : options.f16Depth;
  }

  LogicalResult run() {
    for (Value input : op.getInputs().take_front(3))
      if (!elementOf(input).isF32() && !elementOf(input).isBF16() && !elementOf(input).isF16())
        return op.emitOpError("expected f32, bf16 or f16 operands, got ") << elementOf(input);
    Value q = matrix(op.getInputs()[0], 0), k = matrix(op.getInputs()[1], 1), v = matrix(op.getInputs()[2], 2);
    Value out = matrix(op.getOutputs()[0], 3);
    Value lse = view(op.getOutputs()[1], {0, 1}, 1);
    if (!q || !k || !v || !out)
      return op.emitOpError("expected rows before columns in every operand");
    OpFoldResult rows = size(q, 0), keys = size(k, 0), columns = size(v, 1);
    std::optional<int64_t> staticKeys = getConstantIntValue(keys);
    int64_t block = staticKeys ? std::min(*staticKeys, keyBlock) : keyBlock;
    once = staticKeys && *staticKeys <= keyBlock;

    // Of scores and weights there are a few rows at a time: they stay in the caches, where the keys' and values' panels
    // pass by.
    OpFoldResult few = fold(std::min(scoreRows, getConstantIntValue(rows).value_or(scoreRows)));
    direct = getConstantIntValue(rows).value_or(scoreRows) <= (group > 1 ? fewRowsOfPairs : fewRows);
    if (direct)
      group = depth = 1;
    // Rows a line of the caches longer than their elements: at a distance of a power of two they would share few sets.
    constexpr int64_t line = 64;
    Value scores = alloc({few, fold(block + line / 4)}), packedK, packedV;
    if (!direct) {
      packedK =
          alloc({fold(llvm::divideCeil(block, panel)), packedDepth(size(q, 1)), fold(panel * group)}, elementOf(k));
      packedV = alloc({ceilDiv(columns, panel), packedDepth(fold(block)), fold(panel * group)}, elementOf(v));
    }
    // Pairs of k are of one type on both sides of the second product.
    Value weights = group == 1 ? Value() : alloc({few, fold(block + line / 2)}, element);
    Value m = alloc({rows}), l = alloc({rows}), next = alloc({few}), acc = alloc({rows, columns}),
          parts = once ? Value() : alloc({few, columns});
    fill(m, -std::numeric_limits<float>::infinity());
    fill(l, 0);
    if (!once)
      fill(acc, 0);

    auto step = [&](Value kb, OpFoldResult width) {
      Value kBlock = slice(k, {kb, fold(0)}, {width, size(k, 1)}), vBlock = slice(v, {kb, fold(0)}, {width, columns});
      if (!direct) {
        kBlock = packed(kBlock, packedK, {ceilDiv(width, panel), packedDepth(size(q, 1)), fold(panel * group)}, {1, 0});
        vBlock = packed(vBlock, packedV, {ceilDiv(columns, panel), packedDepth(width), fold(panel * group)}, {0, 1});
      }
      overRowBlocks(rows, scoreRows, [&](Value firstRow, OpFoldResult number) {
        Value s = slice(scores, {fold(0), fold(0)}, {number, width});
        Value p = weights ? slice(weights, {fold(0), fold(0)}, {number, width}) : s;
        Value top = slice(m, {firstRow}, {number}), sums = slice(l, {firstRow}, {number}),
              newTop = slice(next, {fold(0)}, {number});
        product(slice(q, {firstRow, fold(0)}, {number, size(q, 1)}), kBlock, s, /*columnsFirst=*/true);
        // Rows whose scores are 16 KiB: they stay in the first-level cache through all passes over them.
        overRowBlocks(
            number, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, block)), [&](Value first, OpFoldResult count) {
              Value row = arith::AddIOp::create(builder, loc, firstRow, first);
              softmaxRows(slice(s, {first, fold(0)}, {count, width}),
                          weights ? slice(p, {first, fold(0)}, {count, width}) : Value(), slice(top, {first}, {count}),
                          slice(sums, {first}, {count}), slice(newTop, {first}, {count}), row, count, kb, width);
            });
        // acc = acc * exp(m - m') + p v
        Value sum = slice(acc, {firstRow, fold(0)}, {number, columns});
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
      if (op.getCausal() && op.getFirstRow())
        last =
            affine::makeComposedFoldedAffineMin(builder, loc, AffineMap::get(3, 0, {d0, d1 + d2}, builder.getContext()),
                                                {keys, OpFoldResult(op.getFirstRow()), rows});
      auto loop = scf::ForOp::create(builder, loc, index(fold(0)), index(last), index(fold(block)));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      OpFoldResult width = fold(block);
      if (!staticKeys || *staticKeys % block != 0)
        width = affine::makeComposedFoldedAffineMin(
            builder, loc, AffineMap::get(2, 0, {builder.getAffineConstantExpr(block), d1 - d0}, builder.getContext()),
            {OpFoldResult(loop.getInductionVar()), keys});
      step(loop.getInductionVar(), width);
    }
    // Rows that attend to nothing have l = 0 and acc = 0.
    Type outElement = elementOf(out);
    generic({acc, l}, {out}, {"ij", "i"}, {"ij"}, 2, [&](OpBuilder &b, Location at, ValueRange in) {
      Value zero = number(b, at, 0), one = number(b, at, 1);
      Value none = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, in[1], zero);
      Value share = arith::DivFOp::create(b, at, one, arith::SelectOp::create(b, at, none, one, in[1]));
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
  static Type elementOf(Value value) { return cast<MemRefType>(value.getType()).getElementType(); }
  OpFoldResult fold(int64_t value) { return builder.getIndexAttr(value); }
  OpFoldResult size(Value value, int64_t dim) { return memref::getMixedSize(builder, loc, value, dim); }
  /// Rows of a packed operand that holds `k` steps of a sum.
  OpFoldResult packedDepth(OpFoldResult k) {
    AffineExpr d0 = builder.getAffineDimExpr(0);
    AffineExpr expr = depth > group ? d0.ceilDiv(depth) * (depth / group) : d0.ceilDiv(group);
    return affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(1, 0, expr), {k});
  }
  Value index(OpFoldResult value) { return getValueOrCreateConstantIndexOp(builder, loc, value); }
  OpFoldResult ceilDiv(OpFoldResult value, int64_t by) {
    return affine::makeComposedFoldedAffineApply(
        builder, loc, AffineMap::get(1, 0, builder.getAffineDimExpr(0).ceilDiv(by)), {value});
  }
  static Value finite(OpBuilder &b, Location at, Value value) {
    Value lowest = number(b, at, -std::numeric_limits<double>::infinity());
    Value none = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, value, lowest);
    return arith::SelectOp::create(b, at, none, number(b, at, 0), value);
  }

  /// A view of `value` without the dimensions `drop`, whose size is 1, of rank `rank`.
  Value view(Value value, ArrayRef<int64_t> drop, int64_t rank) {
    auto type = cast<MemRefType>(value.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), fold(0)), strides(type.getRank(), fold(1)), sizes;
    SmallVector<int64_t> kept;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      bool dropped = llvm::is_contained(drop, dim);
      sizes.push_back(dropped ? fold(1) : size(value, dim));
      if (!dropped)
        kept.push_back(type.getDimSize(dim));
    }
    auto reduced = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(kept, type, offsets, sizes, strides));
    return memref::SubViewOp::create(builder, loc, reduced, value, offsets, sizes, strides);
  }

  /// Rows x columns of operand `which` (query, key, value, result), or null when columns come first.
  Value matrix(Value value, int64_t which) {
    auto place = [&](int64_t dim) { return op.getPermutations() ? (*op.getPermutations())[which * 4 + dim] : dim; };
    if (place(2) > place(3))
      return {};
    return view(value, {place(0), place(1)}, 2);
  }

  Value slice(Value value, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
    // Constant offsets as attributes: they are part of the type, and later folding takes them for known.
    SmallVector<OpFoldResult> strides(offsets.size(), fold(1)), starts(offsets);
    (void)foldDynamicIndexList(starts);
    return memref::SubViewOp::create(builder, loc, value, starts, sizes, strides);
  }

  Value alloc(ArrayRef<OpFoldResult> sizes, Type element = {}) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes, dynamic, shape);
    return memref::AllocOp::create(builder, loc, MemRefType::get(shape, element ? element : f32), dynamic);
  }

  /// The part `sizes` of `panels`, filled with the panels of `matrix`.
  Value packed(Value matrix, Value panels, ArrayRef<OpFoldResult> sizes, ArrayRef<int64_t> permutation) {
    Value part = slice(panels, {fold(0), fold(0), fold(0)}, sizes);
    tile::PackOp::create(builder, loc, TypeRange(), ValueRange{matrix}, ValueRange{part}, panel, group, permutation, 0);
    return part;
  }

  /// to = a b, with b in panels, or as it lies (`columnsFirst`: transposed) for a few rows, which read it once.
  void product(Value a, Value b, Value to, bool columnsFirst) {
    if (!direct) {
      tile::MatmulOp::create(builder, loc, TypeRange(), ValueRange{a, b}, ValueRange{to}, panel, group,
                             ArrayRef<int64_t>{0, 1});
      return;
    }
    fill(to, 0);
    generic(
        {a, b}, {to}, {"ik", columnsFirst ? "jk" : "kj"}, {"ij"}, 3,
        [&](OpBuilder &b, Location at, ValueRange in) {
          auto wide = [&](Value x) -> Value {
            return x.getType().isF32() ? x : arith::ExtFOp::create(b, at, f32, x).getResult();
          };
          auto contract = arith::FastMathFlags::contract;
          Value x = arith::MulFOp::create(b, at, wide(in[0]), wide(in[1]), contract);
          linalg::YieldOp::create(b, at, arith::AddFOp::create(b, at, in[2], x, contract).getResult());
        },
        /*reduceLast=*/true);
  }

  void fill(Value value, float with) {
    linalg::FillOp::create(builder, loc,
                           arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(with)).getResult(), value);
  }

  /// linalg.generic over loops i, j, k; each operand's map is spelled by the loops it reads ("ij", "i", "0j").
  void generic(ValueRange ins, ValueRange outs, ArrayRef<StringRef> inMaps, ArrayRef<StringRef> outMaps, int64_t loops,
               function_ref<void(OpBuilder &, Location, ValueRange)> body, bool reduceLast = false) {
    SmallVector<AffineMap> maps;
    for (ArrayRef<StringRef> group : {inMaps, outMaps})
      for (StringRef text : group) {
        SmallVector<AffineExpr> exprs;
        for (char c : text)
          exprs.push_back(c == '0' ? builder.getAffineConstantExpr(0) : builder.getAffineDimExpr(c - 'i'));
        maps.push_back(AffineMap::get(loops, 0, exprs, builder.getContext()));
      }
    SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::parallel);
    if (reduceLast)
      iterators.back() = utils::IteratorType::reduction;
    linalg::GenericOp::create(builder, loc, TypeRange(), ins, outs, maps, iterators,
                              [&](OpBuilder &b, Location at, ValueRange arguments) { body(b, at, arguments); });
  }

  void elementwise(ValueRange ins, Value out, int64_t rank,
                   function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
    SmallVector<StringRef> maps(ins.size(), rank == 1 ? "i" : "ij");
    generic(ins, {out}, maps, {rank == 1 ? "i" : "ij"}, rank,
            [&](OpBuilder &b, Location at, ValueRange in) { linalg::YieldOp::create(b, at, body(b, at, in)); });
  }

  void reduce(Value matrix, Value row, function_ref<Value(OpBuilder &, Location, Value, Value)> combine) {
    generic(
        {matrix}, {row}, {"ij"}, {"i"}, 2,
        [&](OpBuilder &b, Location at, ValueRange in) { linalg::YieldOp::create(b, at, combine(b, at, in[0], in[1])); },
        /*reduceLast=*/true);
  }

  static Value number(OpBuilder &b, Location at, double value) {
    return arith::ConstantOp::create(b, at, b.getF32FloatAttr(value));
  }

  /// `body` for blocks of `count` rows and for what is left of them.
  void overRowBlocks(OpFoldResult rows, int64_t count, function_ref<void(Value, OpFoldResult)> body) {
    std::optional<int64_t> known = getConstantIntValue(rows);
    if (known && *known <= count)
      return body(index(fold(0)), rows);
    int64_t left = known ? *known % count : 0;
    Value end = known ? index(fold(*known - left)) : index(rows);
    auto loop = scf::ForOp::create(builder, loc, index(fold(0)), end, index(fold(count)));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
      OpFoldResult size = fold(count);
      if (!known)
        size = affine::makeComposedFoldedAffineMin(
            builder, loc, AffineMap::get(2, 0, {builder.getAffineConstantExpr(count), d1 - d0}, builder.getContext()),
            {OpFoldResult(loop.getInductionVar()), rows});
      body(loop.getInductionVar(), size);
    }
    if (left > 0)
      body(end, fold(left));
  }

  /// The greater of a score and `best`. It passes over NaN, whose power is NaN again and the row's sum, too.
  static Value greater(OpBuilder &b, Location at, Value x, Value best) {
    return arith::MaxNumFOp::create(b, at, best, x, arith::FastMathFlags::nsz);
  }

  /// The weight of a score above `best`; to 17 bits where 16 are made of it.
  Value weightOf(OpBuilder &b, Location at, Value score, Value best) {
    auto flags = group > 1 ? arith::FastMathFlags::afn : arith::FastMathFlags::none;
    Value x = arith::SubFOp::create(b, at, score, finite(b, at, best));
    if (unit == Unit::Natural)
      return math::ExpOp::create(b, at, x, flags);
    if (unit == Unit::Raw)
      x = arith::MulFOp::create(b, at, x, number(b, at, scale * llvm::numbers::log2e));
    return math::Exp2Op::create(b, at, x, flags);
  }

  /// The scores `s` of `count` rows from `first` on become e^(s - m'), in `p` and in its type where that is not null;
  /// the row's sum `l` follows, `m` becomes e^(m - m') and `next` the new maximum m'.
  void softmaxRows(Value s, Value p, Value m, Value l, Value next, Value first, OpFoldResult count, Value kb,
                   OpFoldResult width) {
    // The new maximum of each row.
    elementwise({m}, next, 1, [](OpBuilder &, Location, ValueRange in) { return in[0]; });
    if (unit == Unit::Raw)
      reduce(s, next, greater);
    else
      scaleAndMask(s, next, first, count, kb, width);
    // What was summed so far shrinks by e^(m - m'), with m' = 0 for a row of -inf alone.
    elementwise({m, next}, m, 1,
                [&](OpBuilder &b, Location at, ValueRange in) -> Value { return weightOf(b, at, in[0], in[1]); });
    elementwise({l, m}, l, 1, [](OpBuilder &b, Location at, ValueRange in) -> Value {
      return arith::MulFOp::create(b, at, in[0], in[1]);
    });
    // The weights, and their sum in the same pass.
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

  /// The scores `s` scaled and masked in place, and their maximum into `next`.
  void scaleAndMask(Value s, Value next, Value first, OpFoldResult count, Value kb, OpFoldResult width) {
    SmallVector<Value> ins;
    SmallVector<StringRef> maps;
    bool boolean = false;
    if (op.getInputs().size() == 4) {
      Value mask = view(op.getInputs()[3], {0, 1}, 2);
      auto type = cast<MemRefType>(mask.getType());
      bool perRow = type.getDimSize(0) != 1, perColumn = type.getDimSize(1) != 1;
      mask = slice(mask, {perRow ? OpFoldResult(first) : fold(0), perColumn ? OpFoldResult(kb) : fold(0)},
                   {perRow ? count : fold(1), perColumn ? width : fold(1)});
      ins.push_back(mask);
      maps.push_back(perRow ? (perColumn ? "ij" : "i0") : (perColumn ? "0j" : "00"));
      boolean = elementOf(mask).isInteger(8);
    }
    generic(
        ins, {s, next}, maps, {"ij", "i"}, 2,
        [&](OpBuilder &b, Location at, ValueRange in) {
          auto contract = arith::FastMathFlags::contract;
          Value best = in.back(), x = in.drop_back().back();
          const double factor = scale * (unit == Unit::Binary ? llvm::numbers::log2e : 1);
          x = arith::MulFOp::create(b, at, x, number(b, at, factor), contract);
          Value lowest = number(b, at, -std::numeric_limits<double>::infinity());
          if (boolean) {
            Value zero = arith::ConstantOp::create(b, at, b.getI8IntegerAttr(0));
            Value attend = arith::CmpIOp::create(b, at, arith::CmpIPredicate::ne, in[0], zero);
            x = arith::SelectOp::create(b, at, attend, x, lowest);
          } else if (!ins.empty()) {
            x = arith::AddFOp::create(b, at, x, in[0], contract);
          }
          if (op.getCausal()) {
            Value row = linalg::IndexOp::create(b, at, 0), column = linalg::IndexOp::create(b, at, 1);
            row = arith::AddIOp::create(b, at, row, first);
            if (op.getFirstRow())
              row = arith::AddIOp::create(b, at, row, op.getFirstRow());
            column = arith::AddIOp::create(b, at, column, kb);
            Value seen = arith::CmpIOp::create(b, at, arith::CmpIPredicate::ule, column, row);
            x = arith::SelectOp::create(b, at, seen, x, lowest);
          }
          linalg::YieldOp::create(b, at, {x, greater(b, at, x, best)});
        },
        /*reduceLast=*/true);
  }

  tile::AttentionOp op;
  OpBuilder builder;
  Location loc;
  Type f32, element;
  int64_t group, depth; ///< of packed operands
  /// What scores and their maxima are kept in. Raw: as the product has them, scaled where a weight is made of the
  /// difference to the maximum (which is exact, and 0 for the greatest). Masked ones are scaled before: Binary, in
  /// powers of 2, e^x = 2^(x log2 e); Natural where a mask is added, which may hold the least number there is, and rows
  /// of nothing else still have weights.
  enum class Unit { Raw, Binary, Natural } unit;
  double scale;
  bool once = false;   ///< all keys are one block
  bool direct = false; ///< few rows: keys and values are read where they lie
};

struct ExpandAttention : impl::ExpandAttentionBase<ExpandAttention> {
  using ExpandAttentionBase::ExpandAttentionBase;
  void runOnOperation() override {
    SmallVector<tile::AttentionOp> ops;
    getOperation().walk([&](tile::AttentionOp op) { ops.push_back(op); });
    for (tile::AttentionOp op : ops)
      if (failed(AttentionExpander(op, {bf16Group, bf16Depth, f16Group, f16Depth}).run()))
        return signalPassFailure();
  }
};
} // namespace
} // namespace vector_stage
} // namespace tilewright
