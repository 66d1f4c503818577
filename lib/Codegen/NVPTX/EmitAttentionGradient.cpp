//===- EmitAttentionGradient.cpp - the schedule `attention` of a gradient, on tensor cores -----===//
//
// One launch has two kinds of blocks. Each block processes one head. The kinds differ in the rows that a block owns:
//
//   own keys, values    iterate over queries and result gradients:  dK = scale * sums of dS' Q,  dV = sums of P' dO
//   own queries, dO     iterate over keys and values:               dQ = scale * sums of dS K
//
//   load own rows ; sums = 0
//   for tiles of other rows: wait for the oldest ; barrier ; load the next into the slot that all warps have released
//     P  = exp(own_1 x other_1 (mma) * scale + mask - log-sum-exp), 0 if hidden
//     dS = P * (own_2 x other_2 (mma) - delta)                      delta = sum(dO * O) of the query's row
//     dV's sums += P' x dO ; dK's or dQ's sums += dS x other_1 (mma)
//
// If the block's own rows are keys, P and dS are transposed. Therefore, in both kinds of blocks, the fragments of
// scores have the layout of the second product's left operand, and no score is stored in memory. Because both kinds
// compute the scores, there are seven products instead of five. The advantage is that only one block computes each
// result, so results are bitwise reproducible without atomics. The statistics of a query are delta and its log-sum-exp,
// which is replaced by +inf if the query attends to no key. These statistics are computed when the row of the query is
// loaded. The blocks of the first kind have the loop order of Dao, FlashAttention-2, 2023, algorithm 2.
//
// Tests: test/Codegen/NVPTX/attention-gradient.mlir, test/Python/test_cuda_attention_gradient.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/NVPTX/AttentionCode.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "lib/Codegen/NVPTX/InlineAssembly.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;
namespace {

using Of = AttentionGradient;

class GradientEmitter : AttentionCode {
public:
  GradientEmitter(ThreadKernel &kernel, const AttentionGradient &gradient)
      : AttentionCode(kernel, getElementTypeOrSelf(gradient.op.getInputs()[0].getType())), gradient(gradient),
        tiles(kernel.schedule, gradient), atOnce(rowsAtOnce(kernel.schedule, gradient)) {}

  LogicalResult run() {
    shared = tiles.bytes <= mostStaticShared ? kernel.allocateShared(tiles.bytes) : kernel.dynamicShared(tiles.bytes);
    pair = elements.multiply(remainder(lane, 4), index(2));
    kernel.setGrid(blocksFor(Of::Key) + blocksFor(Of::Query));
    Value heads = elements.multiply(size(operand(Of::Key), 0), size(operand(Of::Key), 1));
    Value blocksOfKeys = elements.multiply(heads, divideUp(size(operand(Of::Key), 2), schedule.m));
    Value isOfKeys = isLess(kernel.block, blocksOfKeys);
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), isOfKeys, /*withElse=*/true);
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      emit(/*keysAreOwn=*/true, kernel.block);
    });
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      emit(/*keysAreOwn=*/false, arith::SubIOp::create(builder, loc, kernel.block, blocksOfKeys));
    });
    return success();
  }

private:
  Operand operand(unsigned number) { return {gradient.op.getInputs()[number], gradient.dims[number]}; }
  AffineExpr blocksFor(unsigned number) {
    Operand of = operand(number);
    auto sizeOf = [&](unsigned dim) { return tile::sizeOf(of.tensor, of.dims[dim]); };
    return sizeOf(0) * sizeOf(1) * sizeOf(2).ceilDiv(schedule.m);
  }
  int64_t columnsOf(unsigned number) const { return number == 0 ? gradient.headSize : gradient.valueSize; }
  Rows ownRows(unsigned number) {
    return {operand(ofKeys ? (number == 0 ? Of::Key : Of::Value) : (number == 0 ? Of::Query : Of::Grad)), batch, head,
            ownCount, columnsOf(number)};
  }
  Rows otherRows(unsigned number) {
    return {operand(ofKeys ? (number == 0 ? Of::Query : Of::Grad) : (number == 0 ? Of::Key : Of::Value)), batch, head,
            otherCount, columnsOf(number)};
  }
  Value minimum(Value a, Value b) { return arith::MinUIOp::create(builder, loc, a, b); }
  Value lastOf(Value count) { return arith::SubIOp::create(builder, loc, count, index(1)); }
  bool causal() { return gradient.op.getCausal(); }

  void emit(bool keysAreOwn, Value block) {
    ofKeys = keysAreOwn;
    ownCount = size(operand(ofKeys ? Of::Key : Of::Query), 2);
    otherCount = size(operand(ofKeys ? Of::Query : Of::Key), 2);
    SmallVector<Value> at = elements.delinearize(
        block, {size(operand(Of::Key), 0), size(operand(Of::Key), 1), divideUp(ownCount, schedule.m)});
    batch = at[0];
    head = at[1];
    Value blockRow = elements.multiply(at[2], index(schedule.m));
    warpRow = elements.add(blockRow, elements.multiply(warp, index(16)));
    for (int64_t half = 0; half < 2; ++half) {
      Value position = elements.add(warpRow, elements.add(index(half * 8), quotient(lane, 4)));
      row[half] = {position, Value()};
      if (!dividesEvenly(ownCount, schedule.m))
        row[half] = {minimum(position, lastOf(ownCount)), isLess(position, ownCount)};
    }
    for (unsigned number = 0; number < 2; ++number)
      copyRows(tiles.own[number], shared, ownRows(number), blockRow);
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);

    // If there is a causal mask, a query attends to the keys up to its own index. If the block's own rows are keys, the
    // loop starts at the first query that attends to one of them. Otherwise, it ends after the last key to which the
    // block's queries attend.
    Value first = causal() && ofKeys ? quotient(blockRow, schedule.n) : index(0);
    Value seen = causal() && !ofKeys ? minimum(otherCount, elements.add(blockRow, index(schedule.m))) : otherCount;
    Value end = divideUp(seen, schedule.n);
    for (int64_t stage = 0; stage + 1 < schedule.stages; ++stage)
      load(elements.add(first, index(stage)), end);
    own[0].clear();
    own[1].clear();
    if (keepsOwnRows(gradient)) {
      NVVM::CpAsyncWaitGroupOp::create(builder, loc, int32_t(schedule.stages - 1));
      NVVM::Barrier0Op::create(builder, loc);
      for (unsigned number = 0; number < 2; ++number)
        for (int64_t depth = 0; depth < tiles.own[number].columns; depth += 16)
          own[number].push_back(ownFragments(number, depth));
    }
    statistics.clear();
    if (!ofKeys)
      for (Row &mine : row)
        statistics.push_back({baseOf(mine.position), deltaOf(mine.position, remainder(lane, 4), 4)});

    SmallVector<Value> sums(size_t((gradient.headSize + (ofKeys ? gradient.valueSize : 0)) / 2), zero);
    auto loop = scf::ForOp::create(builder, loc, first, end, index(1), sums);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value tile = loop.getInductionVar();
      NVVM::CpAsyncWaitGroupOp::create(builder, loc, int32_t(schedule.stages - 2));
      NVVM::Barrier0Op::create(builder, loc);
      load(elements.add(tile, index(schedule.stages - 1)), end);
      SmallVector<Value> next(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      const Value known = std::exchange(lane, keepsOwnRows(gradient) ? lane : forgotten(lane));
      step(tile, slotOf(tile), next);
      lane = known;
      scf::YieldOp::create(builder, loc, next);
    });
    NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
    SmallVector<Value> made(loop.getResults());
    ArrayRef<Value> all(made);
    const auto ofHead = size_t(gradient.headSize / 2);
    write(ofKeys ? 1 : 0, all.take_front(ofHead), number(gradient.op.getScale().convertToDouble()));
    if (ofKeys)
      write(2, all.drop_front(ofHead), Value());
  }

  /// Returns `value` in a form that the optimizer cannot analyze, so that expressions of `value` are computed where
  /// they are used. Otherwise, all offsets in tiles would be computed before the loop and would occupy many registers,
  /// which the sums need.
  Value forgotten(Value value) {
    Value copy = inlineAssembly(builder, loc, "mov.b32 $0, $1;", "=r,r", toI32(value), builder.getI32Type());
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), copy);
  }

  Value slotOf(Value tile) {
    Value number = arith::RemUIOp::create(builder, loc, tile, index(schedule.stages));
    return address(shared, elements.add(index(tiles.slots), elements.multiply(number, index(tiles.slotBytes))));
  }

  /// Loads a tile. There is no tile to load after the last tile. In this case, an empty group of copies is committed,
  /// so that the number of groups does not change.
  void load(Value tile, Value end) {
    when(isLess(tile, end), [&] {
      Value slot = slotOf(tile), first = elements.multiply(tile, index(schedule.n));
      for (unsigned number = 0; number < 2; ++number)
        copyRows(tiles.far[number], slot, otherRows(number), first);
      if (ofKeys)
        loadStatistics(slot, first);
    });
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  }

  /// Computes the statistics of a tile of queries. The threads of the block are divided evenly over the queries.
  void loadStatistics(Value slot, Value first) {
    const int64_t sharing = schedule.threads / schedule.n;
    Value inTile = quotient(kernel.thread, sharing), part = remainder(kernel.thread, sharing);
    Value position = elements.add(first, inTile);
    if (!dividesEvenly(otherCount, schedule.n))
      position = minimum(position, lastOf(otherCount));
    Value delta = deltaOf(position, part, sharing), base = baseOf(position);
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, part, index(0));
    when(isFirst, [&] {
      Value two = LLVM::UndefOp::create(builder, loc, VectorType::get({2}, f32));
      for (auto [lane, value] : llvm::enumerate(ArrayRef<Value>{base, delta}))
        two = LLVM::InsertElementOp::create(
            builder, loc, two, value, LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(lane))));
      LLVM::StoreOp::create(builder, loc, two, statisticsOf(slot, inTile), /*alignment=*/8);
    });
  }

  Value statisticsOf(Value slot, Value row) {
    return address(slot, elements.add(index(tiles.statistics), elements.multiply(row, index(8))));
  }

  /// Returns the log-sum-exp of a query. If it is -inf, returns +inf instead, which makes all weights of the query 0.
  Value baseOf(Value position) {
    Value sum = elements.element(gradient.op.getInputs()[Of::LogSumExp], {batch, head, position});
    Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, lowest);
    return arith::SelectOp::create(builder, loc, none, number(std::numeric_limits<double>::infinity()), sum);
  }

  /// Returns sum(dO * O) of a query's row. `sharing` adjacent lanes compute the sum; this lane has the index `part`.
  Value deltaOf(Value position, Value part, int64_t sharing) {
    const int64_t chunks = gradient.valueSize / chunkElements;
    auto loop = scf::ForOp::create(builder, loc, index(0), index(int64_t(llvm::divideCeil(chunks, sharing))), index(1),
                                   ValueRange(zero));
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value chunk = elements.add(elements.multiply(loop.getInductionVar(), index(sharing)), part), inside;
      if (chunks % sharing != 0) {
        inside = isLess(chunk, index(chunks));
        chunk = arith::SelectOp::create(builder, loc, inside, chunk, index(0));
      }
      Value column = elements.multiply(chunk, index(chunkElements)), sum = loop.getRegionIterArgs()[0];
      SmallVector<Value> a = loadChunk(Of::Result, position, column), b = loadChunk(Of::Grad, position, column);
      for (auto [x, y] : llvm::zip_equal(a, b))
        sum = plus(sum, times(x, y));
      if (inside)
        sum = arith::SelectOp::create(builder, loc, inside, sum, loop.getRegionIterArgs()[0]);
      scf::YieldOp::create(builder, loc, sum);
    });
    Value total = loop.getResult(0);
    for (int32_t mask = 1; mask < sharing; mask *= 2)
      total = plus(total, shuffle(kernel, total, mask));
    return total;
  }

  /// Loads sixteen bytes of a row, and converts the elements to f32.
  SmallVector<Value> loadChunk(unsigned number, Value position, Value column) {
    Value from = globalAddress(operand(number), {batch, head, position, column});
    Type words = VectorType::get({4}, builder.getI32Type()), narrow = VectorType::get({chunkElements}, element);
    Value loaded = LLVM::LoadOp::create(builder, loc, words, from, /*alignment=*/chunkBytes);
    loaded = LLVM::BitcastOp::create(builder, loc, narrow, loaded);
    SmallVector<Value> wide;
    for (int64_t lane = 0; lane < chunkElements; ++lane) {
      Value at = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(lane)));
      Value each = LLVM::ExtractElementOp::create(builder, loc, loaded, at);
      wide.push_back(LLVM::FPExtOp::create(builder, loc, f32, each));
    }
    return wide;
  }

  SmallVector<Value> ownFragments(unsigned number, int64_t depth) {
    return loadFragments(tiles.own[number], shared, elements.multiply(warp, index(16)), depth, /*isLhs=*/true);
  }

  static MutableArrayRef<Value> four(MutableArrayRef<Value> all, int64_t number) {
    return all.slice(size_t(number) * 4, 4);
  }

  /// Multiplies this warp's own rows by `atOnce` rows of a tile, starting at `from`. Returns fragments of 16 x 8.
  SmallVector<Value> product(unsigned number, Value slot, int64_t from) {
    SmallVector<Value> made(size_t(atOnce / 2), zero);
    for (int64_t depth = 0; depth < tiles.own[number].columns; depth += 16) {
      SmallVector<Value> left = own[number].empty() ? ownFragments(number, depth) : own[number][size_t(depth / 16)];
      for (int64_t j = 0; j < atOnce / 8; j += 2) {
        SmallVector<Value> right = loadFragments(tiles.far[number], slot, index(from + j * 8), depth, /*isLhs=*/false);
        for (int64_t next = 0; next < 2; ++next)
          multiply(left, ArrayRef(right).slice(size_t(next) * 2, 2), four(made, j + next));
      }
    }
    return made;
  }

  /// Rounds `left` (own rows x atOnce) to the operands' type, and adds the product of `left` and `atOnce` rows of a
  /// tile, starting at `from`, to `sums`.
  void accumulate(MutableArrayRef<Value> left, unsigned number, Value slot, int64_t from, MutableArrayRef<Value> sums) {
    SharedTile transposed = tiles.far[number];
    transposed.alongK = false;
    for (int64_t depth = 0; depth < atOnce / 16; ++depth) {
      SmallVector<Value> words;
      for (int64_t part = 0; part < 4; ++part)
        words.push_back(packed(four(left, depth * 2 + part / 2).slice(size_t(part % 2) * 2, 2)));
      for (int64_t j = 0; j < columnsOf(number) / 8; j += 2) {
        SmallVector<Value> right = loadFragments(transposed, slot, index(j * 8), from + depth * 16, /*isLhs=*/false);
        for (int64_t next = 0; next < 2 && j + next < columnsOf(number) / 8; ++next)
          multiply(words, ArrayRef(right).slice(size_t(next) * 2, 2), four(sums, j + next));
      }
    }
  }

  struct Statistics {
    Value base, delta;
  };

  void step(Value tile, Value slot, MutableArrayRef<Value> sums) {
    for (int64_t from = 0; from < schedule.n; from += atOnce)
      part(elements.add(elements.multiply(tile, index(schedule.n)), index(from)), slot, from, sums);
  }

  /// Processes `atOnce` rows of a tile, starting at row `from` of the tile, which is row `begin` of the other operands.
  void part(Value begin, Value slot, int64_t from, MutableArrayRef<Value> sums) {
    Value first = elements.add(begin, pair);
    SmallVector<Value> weights = product(0, slot, from);
    Value scale = number(gradient.op.getScale().convertToDouble());
    for (Value &score : weights)
      score = times(score, scale);
    addMask(first, weights);
    hideUnseen(begin, first, weights);
    SmallVector<Value> slopes = product(1, slot, from);
    for (int64_t j = 0; j < atOnce / 8; ++j) {
      SmallVector<Statistics> here = ofKeys ? statisticsOfPair(slot, from + j * 8) : statistics;
      for (int64_t i = 0; i < 4; ++i) {
        const Statistics &mine = here[size_t(ofKeys ? i % 2 : i / 2)];
        Value &weight = weights[size_t(j * 4 + i)], &slope = slopes[size_t(j * 4 + i)];
        weight = expOfDifference(weight, mine.base);
        slope = times(weight, minus(slope, mine.delta));
      }
    }
    const auto ofHead = size_t(gradient.headSize / 2);
    if (ofKeys)
      accumulate(weights, 1, slot, from, sums.drop_front(ofHead));
    accumulate(slopes, 0, slot, from, sums.take_front(ofHead));
  }

  /// Returns the statistics of this thread's two queries in the group of eight that starts at `eight`.
  SmallVector<Statistics> statisticsOfPair(Value slot, int64_t eight) {
    Value from = statisticsOf(slot, elements.add(pair, index(eight)));
    Value loaded = LLVM::LoadOp::create(builder, loc, VectorType::get({4}, f32), from, /*alignment=*/16);
    SmallVector<Value> all;
    for (int32_t lane = 0; lane < 4; ++lane)
      all.push_back(LLVM::ExtractElementOp::create(
          builder, loc, loaded, LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(lane))));
    return {{all[0], all[1]}, {all[2], all[3]}};
  }

  /// Returns the row of the score with index `position` in the tile, relative to the thread's first row.
  static int64_t offsetInTile(size_t position) { return int64_t(position / 4 * 8 + position % 2); }

  void addMask(Value first, MutableArrayRef<Value> scores) {
    if (!gradient.hasMask())
      return;
    for (auto [position, score] : llvm::enumerate(scores)) {
      Value mine = row[position / 2 % 2].position, other = elements.add(first, index(offsetInTile(position)));
      if (!dividesEvenly(otherCount, schedule.n))
        other = minimum(other, lastOf(otherCount));
      score =
          masked(score, gradient.op.getInputs()[Of::Mask], {batch, head, ofKeys ? other : mine, ofKeys ? mine : other});
    }
  }

  /// Sets the scores of rows after the last row of the other operands to -inf. If there is a causal mask, also sets the
  /// scores of keys after the query to -inf. The code is in a branch, because few tiles need it.
  void hideUnseen(Value begin, Value first, MutableArrayRef<Value> scores) {
    const bool ragged = !dividesEvenly(otherCount, schedule.n);
    if (!ragged && !causal())
      return;
    Value end = elements.add(begin, index(atOnce));
    Value needed = ragged ? isLess(otherCount, end) : Value();
    if (causal()) {
      Value crosses =
          ofKeys ? isLess(begin, elements.add(warpRow, index(15))) : isLess(elements.add(warpRow, index(1)), end);
      needed = needed ? arith::OrIOp::create(builder, loc, needed, crosses).getResult() : crosses;
    }
    SmallVector<Type> types(scores.size(), f32);
    auto branch = scf::IfOp::create(builder, loc, types, needed, /*withElse=*/true);
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      auto fromFirst = [&](Value offset) { return arith::SubIOp::create(builder, loc, offset, first).getResult(); };
      auto compare = [&](arith::CmpIPredicate predicate, int64_t offset, Value with) {
        return arith::CmpIOp::create(builder, loc, predicate, index(offset), with).getResult();
      };
      SmallVector<Value> hidden(scores.begin(), scores.end());
      Value endOffset = fromFirst(otherCount);
      SmallVector<Value> mine;
      for (Row &each : row)
        mine.push_back(fromFirst(each.position));
      for (auto [position, score] : llvm::enumerate(hidden)) {
        const int64_t offset = offsetInTile(position);
        Value seen = ragged ? compare(arith::CmpIPredicate::slt, offset, endOffset) : Value();
        if (causal())
          seen = both(seen, compare(ofKeys ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle, offset,
                                    mine[position / 2 % 2]));
        score = arith::SelectOp::create(builder, loc, seen, score, lowest);
      }
      scf::YieldOp::create(builder, loc, hidden);
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(builder, loc, SmallVector<Value>(scores.begin(), scores.end()));
    });
    llvm::copy(branch.getResults(), scores.begin());
  }

  /// Multiplies the sums by `factor` (null: 1) and stores them as result number `result`.
  void write(unsigned result, ArrayRef<Value> sums, Value factor) {
    for (auto [value, destination] : kernel.results()) {
      if (cast<OpResult>(value).getResultNumber() != result)
        continue;
      constexpr unsigned firstResult = 5;
      Type type = cast<ShapedType>(destination.getType()).getElementType();
      Operand to{destination, gradient.dims[firstResult + result]};
      for (int64_t half = 0; half < 2; ++half)
        when(row[half].valid, [&] {
          for (size_t j = 0; j < sums.size() / 4; ++j)
            for (size_t next = 0; next < 2; ++next) {
              Value sum = sums[j * 4 + size_t(half) * 2 + next];
              if (factor)
                sum = times(sum, factor);
              if (type != f32)
                sum = arith::TruncFOp::create(builder, loc, type, sum);
              Value column = elements.add(pair, index(int64_t(j * 8 + next)));
              elements.store(sum, destination, indicesOf(to, {batch, head, row[half].position, column}),
                             kernel.pointers[destination]);
            }
        });
    }
  }

  struct Row {
    Value position;
    Value valid; ///< null: the row is always valid; an invalid row is clamped to the last row
  };

  AttentionGradient gradient;
  GradientTiles tiles;
  int64_t atOnce; ///< rows of a tile whose scores are in registers at the same time
  Value shared;
  Value pair; ///< this thread's first row of two adjacent rows in each group of eight other rows
  // The following fields depend on the kind of block that is being emitted:
  bool ofKeys = false; ///< the block's own rows are keys, else queries
  Value ownCount, otherCount, batch, head, warpRow;
  std::array<Row, 2> row; ///< rows of this thread
  SmallVector<SmallVector<Value>> own[2];
  SmallVector<Statistics> statistics; ///< statistics of both rows if the block's own rows are queries
};

} // namespace

LogicalResult emitAttentionGradient(ThreadKernel &kernel, const AttentionGradient &gradient) {
  if (std::string wrong = whyNotAttentionGradient(kernel.schedule, gradient); !wrong.empty())
    return kernel.from.emitOpError("its schedule `attention` is invalid: ") << wrong;
  return GradientEmitter(kernel, gradient).run();
}

} // namespace tilewright::cuda
