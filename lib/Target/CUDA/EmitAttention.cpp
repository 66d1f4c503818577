//===- EmitAttention.cpp - the schedule `attention`: online softmax on tensor cores --------===//
//
// A block has rows of queries of one head, 16 for each warp, and walks over the keys. Tiles of keys and values go
// through a ring of slots in shared memory, by cp.async. Queries, scores, weights and sums stay in registers:
//
//   load queries ; sums = 0, max = -inf, total = 0
//   for tiles of keys: wait for the oldest ; barrier ; load the next into the slot that all have left
//     scores = queries x keys (mma) * scale + mask, -inf where not seen
//     max' = max of max and scores ; weights = exp(scores - max') ; sums, total *= exp(max - max') ; total += weights
//     sums += weights x values (mma)
//   result = sums / total, 0 for a row that sees nothing ; logsumexp = max + log total
//
// The fragments of two neighbouring tiles of scores are those of the left operand of the second product, so weights
// need no shared memory. Where all heads that share keys have few rows (a step of decoding), a block has those of all
// of them, so that keys are read once. exp is ex2.approx, within 2 ulp.
//
// Tests: test/Target/CUDA/attention.mlir, test/Python/test_cuda_attention.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "lib/Target/CUDA/Attention.h"
#include "lib/Target/CUDA/AttentionCode.h"
#include "lib/Target/CUDA/AttentionGradient.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::cuda {
namespace {

class AttentionEmitter : AttentionCode {
public:
  AttentionEmitter(ThreadKernel &kernel, Attention attention)
      : AttentionCode(kernel, getElementTypeOrSelf(attention.op.getInputs()[0].getType())), attention(attention),
        keys(tileOfKeys(kernel.schedule, attention)), values(tileOfValues(kernel.schedule, attention)) {
    for (unsigned which = 0; which < 4; ++which)
      for (unsigned dim = 0; dim < 4; ++dim)
        places[which].push_back(attention.position(Attention::Operand(which), dim));
  }

  LogicalResult run() {
    placeRows();
    int64_t slotBytes = keys.bytes() + values.bytes(), bytes = sharedBytes(schedule, attention);
    shared = bytes <= mostStaticShared ? kernel.allocateShared(bytes) : kernel.dynamicShared(bytes);
    SmallVector<SmallVector<Value>> queries;
    if (attention.keepsQueriesShared())
      copyQueries();
    else
      queries = loadQueries();
    Value tiles = divideUp(columnsSeen(), schedule.n);
    auto slot = [&](Value tile) {
      Value number = arith::RemUIOp::create(builder, loc, tile, index(schedule.stages));
      return address(shared, elements.multiply(number, index(slotBytes)));
    };
    auto load = [&](Value tile) {
      // Behind the last tile there is nothing to load, but a group to count.
      when(isLess(tile, tiles), [&] {
        Value to = slot(tile);
        Value first = elements.multiply(tile, index(schedule.n));
        copyRows(keys, to, {operand(Attention::Key), batch, keyHead, columns(), attention.headSize}, first);
        copyRows(values, to, {operand(Attention::Value), batch, keyHead, columns(), attention.valueSize}, first);
      });
      NVVM::CpAsyncCommitGroupOp::create(builder, loc);
    };
    for (int64_t stage = 0; stage + 1 < schedule.stages; ++stage)
      load(index(stage));
    // Sums, then for both rows of the thread the maximum and this thread's part of the total.
    SmallVector<Value> state(size_t(attention.valueSize / 2), zero);
    state.append({lowest, lowest, zero, zero});
    auto loop = scf::ForOp::create(builder, loc, index(0), tiles, index(1), state);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value tile = loop.getInductionVar();
      NVVM::CpAsyncWaitGroupOp::create(builder, loc, int32_t(schedule.stages - 2));
      NVVM::Barrier0Op::create(builder, loc);
      load(elements.add(tile, index(schedule.stages - 1)));
      SmallVector<Value> next(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      step(queries, tile, slot(tile), next);
      scf::YieldOp::create(builder, loc, next);
    });
    NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
    write(SmallVector<Value>(loop.getResults()));
    return success();
  }

private:
  Operand operand(Attention::Operand which) { return {attention.op.getInputs()[which], places[which]}; }
  Value sizeOf(Attention::Operand which, unsigned dim) { return size(operand(which), dim); }
  Value columns() { return sizeOf(Attention::Key, 2); }

  /// Which head and rows are this block's, and which two rows this thread's.
  void placeRows() {
    Value query = operand(Attention::Query).tensor;
    bool grouped = attention.groupedRows > 0;
    rows = grouped ? index(attention.groupedRows) : sizeOf(Attention::Query, 2);
    int64_t heads = attention.sizeOf(grouped ? Attention::Key : Attention::Query, 1);
    AffineExpr rowsExpr = grouped ? getAffineConstantExpr(attention.groupedRows, builder.getContext())
                                  : tile::sizeOf(query, attention.position(Attention::Query, 2));
    kernel.setGrid(tile::sizeOf(query, attention.position(Attention::Query, 0)) * heads * rowsExpr.ceilDiv(schedule.m));
    SmallVector<Value> at =
        elements.delinearize(kernel.block, {sizeOf(Attention::Query, 0), index(heads), divideUp(rows, schedule.m)});
    batch = at[0];
    firstHead = at[1];
    keyHead = grouped || attention.queryHeads == 1 ? at[1] : quotient(at[1], attention.queryHeads);
    blockRow = elements.multiply(at[2], index(schedule.m));
    warpRow = elements.add(blockRow, elements.multiply(warp, index(16)));
    for (int64_t half = 0; half < 2; ++half)
      row[half] = placeOf(elements.add(warpRow, elements.add(index(half * 8), quotient(lane, 4))));
    pair = elements.multiply(remainder(lane, 4), index(2));
  }

  struct Row {
    Value head, place;
    Value valid; ///< null: always; a row that is not is the last one
  };

  /// Row `number` of those that blocks share.
  Row placeOf(Value number) {
    Row found;
    if (!dividesEvenly(rows, schedule.m)) {
      found.valid = isLess(number, rows);
      Value last = arith::SubIOp::create(builder, loc, rows, index(1));
      number = arith::MinUIOp::create(builder, loc, number, last);
    }
    found.head = firstHead;
    found.place = number;
    if (attention.groupedRows > 0) {
      Value length = sizeOf(Attention::Query, 2), inGroup = arith::DivUIOp::create(builder, loc, number, length);
      found.head = elements.add(elements.multiply(firstHead, index(attention.queryHeads)), inGroup);
      found.place = arith::RemUIOp::create(builder, loc, number, length);
    }
    return found;
  }

  /// The left operand of the first product, four words for each 16 numbers of a head.
  SmallVector<SmallVector<Value>> loadQueries() {
    SmallVector<SmallVector<Value>> words;
    for (int64_t depth = 0; depth < keys.columns; depth += 16) {
      words.emplace_back();
      for (int64_t part = 0; part < 4; ++part) {
        const Row &mine = row[part % 2];
        if (depth + part / 2 * 8 >= attention.headSize) {
          words.back().push_back(asFragment(LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0))));
          continue;
        }
        Value column = elements.add(pair, index(depth + part / 2 * 8));
        Value from = globalAddress(operand(Attention::Query), {batch, mine.head, mine.place, column});
        words.back().push_back(
            asFragment(LLVM::LoadOp::create(builder, loc, builder.getI32Type(), from, /*alignment=*/4).getResult()));
      }
    }
    return words;
  }

  /// The same where they stay in shared memory: part of the first group of copies.
  void copyQueries() {
    SharedTile tile = tileOfQueries(schedule, attention);
    forChunks(tile, shared, [&](Value rowInTile, Value chunk, Value to) {
      Row from = placeOf(elements.add(blockRow, rowInTile));
      Value inside, column = columnOf(chunk, tile, attention.headSize, inside);
      copyChunk(to, globalAddress(operand(Attention::Query), {batch, from.head, from.place, column}), inside);
    });
  }

  /// How many columns a row of this block sees at most.
  Value columnsSeen() {
    if (!attention.op.getCausal())
      return columns();
    Value seen = attention.groupedRows > 0 ? sizeOf(Attention::Query, 2) : elements.add(blockRow, index(schedule.m));
    return arith::MinUIOp::create(builder, loc, columns(), seen);
  }

  /// The four lanes that share a row, combined.
  Value inQuad(Value value, llvm::function_ref<Value(Value, Value)> combine) {
    for (int32_t mask : {1, 2})
      value = combine(value, shuffle(builder, loc, value, mask));
    return value;
  }

  /// `queries`: none where they are in shared memory.
  void step(ArrayRef<SmallVector<Value>> queries, Value tile, Value slot, SmallVector<Value> &state) {
    SmallVector<Value> scores(size_t(schedule.n / 2), zero);
    auto four = [](MutableArrayRef<Value> all, int64_t number) { return all.slice(size_t(number) * 4, 4); };
    for (int64_t depth = 0; depth < keys.columns; depth += 16) {
      SmallVector<Value> left = queries.empty()
                                    ? loadFragments(tileOfQueries(schedule, attention), shared,
                                                    elements.multiply(warp, index(16)), depth, /*isLhs=*/true)
                                    : queries[size_t(depth / 16)];
      for (int64_t j = 0; j < schedule.n / 8; j += 2) {
        SmallVector<Value> right = loadFragments(keys, slot, index(j * 8), depth, /*isLhs=*/false);
        for (int64_t next = 0; next < 2; ++next)
          multiply(left, ArrayRef(right).slice(size_t(next) * 2, 2), four(scores, j + next));
      }
    }
    Value scale = number(attention.op.getScale().convertToDouble());
    for (Value &score : scores)
      score = times(score, scale);
    Value firstColumn = elements.add(elements.multiply(tile, index(schedule.n)), pair);
    addMask(firstColumn, scores);
    hideUnseen(tile, firstColumn, scores);

    MutableArrayRef<Value> sums = MutableArrayRef<Value>(state).drop_back(4),
                           max = MutableArrayRef<Value>(state).take_back(4).take_front(2),
                           total = MutableArrayRef<Value>(state).take_back(2);
    for (int64_t half = 0; half < 2; ++half) {
      Value found = max[half];
      auto mine = [&](int64_t j) { return four(scores, j).slice(size_t(half) * 2, 2); };
      Value here = maximum(mine(0)[0], mine(0)[1]);
      for (int64_t j = 1; j < schedule.n / 8; ++j)
        here = maximum(here, maximum(mine(j)[0], mine(j)[1]));
      Value larger = maximum(found, inQuad(here, [&](Value a, Value b) { return maximum(a, b); }));
      Value base = orZero(larger), shrink = expOfDifference(found, base), added = zero;
      for (int64_t j = 0; j < schedule.n / 8; ++j)
        for (Value &score : mine(j)) {
          score = expOfDifference(score, base);
          added = plus(added, score);
        }
      total[half] = plus(times(total[half], shrink), added);
      max[half] = larger;
      for (int64_t j = 0; j < attention.valueSize / 8; ++j)
        for (Value &sum : four(sums, j).slice(size_t(half) * 2, 2))
          sum = times(sum, shrink);
    }

    for (int64_t depth = 0; depth < schedule.n / 16; ++depth) {
      SmallVector<Value> left;
      for (int64_t part = 0; part < 4; ++part)
        left.push_back(packed(four(scores, depth * 2 + part / 2).slice(size_t(part % 2) * 2, 2)));
      for (int64_t j = 0; j < attention.valueSize / 8; j += 2) {
        SmallVector<Value> right = loadFragments(values, slot, index(j * 8), depth * 16, /*isLhs=*/false);
        for (int64_t next = 0; next < 2 && j + next < attention.valueSize / 8; ++next)
          multiply(left, ArrayRef(right).slice(size_t(next) * 2, 2), four(sums, j + next));
      }
    }
  }

  /// `max`, or 0 for a row that has seen nothing, so that its exponentials are 0.
  Value orZero(Value max) {
    Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, max, lowest);
    return arith::SelectOp::create(builder, loc, none, zero, max);
  }

  void addMask(Value firstColumn, MutableArrayRef<Value> scores) {
    if (attention.op.getInputs().size() < 4)
      return;
    Value mask = attention.op.getInputs()[3];
    bool ragged = !dividesEvenly(columns(), schedule.n);
    for (auto [position, score] : llvm::enumerate(scores)) {
      const Row &mine = row[position / 2 % 2];
      Value column = elements.add(firstColumn, index(int64_t(position / 4 * 8 + position % 2)));
      if (ragged) {
        Value last = arith::SubIOp::create(builder, loc, columns(), index(1));
        column = arith::MinUIOp::create(builder, loc, column, last);
      }
      score = masked(score, mask, {batch, mine.head, mine.place, column});
    }
  }

  /// -inf for columns behind the last one and, where it is causal, behind the row. Tiles that need it are few.
  void hideUnseen(Value tile, Value firstColumn, MutableArrayRef<Value> scores) {
    bool ragged = !dividesEvenly(columns(), schedule.n), causal = attention.op.getCausal();
    if (!ragged && !causal)
      return;
    Value end = elements.multiply(elements.add(tile, index(1)), index(schedule.n));
    Value needed = ragged ? isLess(columns(), end) : Value();
    if (causal) {
      Value firstRow = attention.groupedRows > 0 ? index(0) : warpRow;
      Value crosses = isLess(elements.add(firstRow, index(1)), end);
      needed = needed ? arith::OrIOp::create(builder, loc, needed, crosses).getResult() : crosses;
    }
    SmallVector<Type> types(scores.size(), f32);
    auto branch = scf::IfOp::create(builder, loc, types, needed, /*withElse=*/true);
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      SmallVector<Value> rest, hidden(scores.begin(), scores.end());
      for (const Row &mine : row) {
        Value seen = columns();
        if (causal)
          seen = arith::MinUIOp::create(builder, loc, seen, elements.add(mine.place, index(1)));
        rest.push_back(arith::SubIOp::create(builder, loc, seen, firstColumn));
      }
      for (auto [position, score] : llvm::enumerate(hidden)) {
        Value at = index(int64_t(position / 4 * 8 + position % 2));
        Value seen = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, rest[position / 2 % 2]);
        score = arith::SelectOp::create(builder, loc, seen, score, lowest);
      }
      scf::YieldOp::create(builder, loc, hidden);
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(builder, loc, SmallVector<Value>(scores.begin(), scores.end()));
    });
    llvm::copy(branch.getResults(), scores.begin());
  }

  void write(SmallVector<Value> state) {
    ArrayRef<Value> sums = ArrayRef<Value>(state).drop_back(4), max = ArrayRef<Value>(state).take_back(4).take_front(2),
                    total = ArrayRef<Value>(state).take_back(2);
    for (int64_t half = 0; half < 2; ++half) {
      const Row &mine = row[half];
      Value all = inQuad(total[size_t(half)], [&](Value a, Value b) { return plus(a, b); });
      Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, all, zero);
      Value factor = arith::DivFOp::create(builder, loc, number(1), all);
      factor = arith::SelectOp::create(builder, loc, none, zero, factor);
      for (auto [value, destination] : kernel.results()) {
        Type type = cast<ShapedType>(destination.getType()).getElementType();
        Value pointer = kernel.pointers[destination];
        auto rounded = [&](Value x) {
          return type == f32 ? x : arith::TruncFOp::create(builder, loc, type, x).getResult();
        };
        if (cast<OpResult>(value).getResultNumber() == 1) {
          Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, pair, index(0));
          when(both(mine.valid, first), [&] {
            Value logarithm = plus(orZero(max[size_t(half)]), math::LogOp::create(builder, loc, all));
            elements.store(rounded(logarithm), destination, {batch, mine.head, mine.place}, pointer);
          });
          continue;
        }
        when(mine.valid, [&] {
          for (int64_t j = 0; j < attention.valueSize / 8; ++j)
            for (int64_t next = 0; next < 2; ++next) {
              Value column = elements.add(pair, index(j * 8 + next));
              Value sum = sums[size_t(j * 4 + half * 2 + next)];
              elements.store(rounded(times(sum, factor)), destination,
                             placed({destination, places[Attention::Result]}, {batch, mine.head, mine.place, column}),
                             pointer);
            }
        });
      }
    }
  }

  Attention attention;
  SmallVector<int64_t, 4> places[4]; ///< of each operand and the result
  SharedTile keys, values;           ///< of a stage
  Value shared;                      ///< all stages, then queries
  Value batch, keyHead, blockRow, warpRow;
  Value firstHead; ///< of this block: of keys where rows are of a group of heads, else of queries
  Value rows;      ///< that blocks share
  Value pair;      ///< the first of the two columns of each eight that are this thread's
  std::array<Row, 2> row;
};

} // namespace

LogicalResult emitAttention(ThreadKernel &kernel) {
  std::string reason;
  if (std::optional<AttentionGradient> gradient = matchAttentionGradient(kernel.from, reason))
    return emitAttentionGradient(kernel, *gradient);
  std::optional<Attention> attention = matchAttention(kernel.from, reason);
  if (!attention)
    return kernel.from.emitOpError("its schedule `attention` does not fit: ") << reason;
  if (std::string wrong = whyNotAttention(kernel.schedule, *attention); !wrong.empty())
    return kernel.from.emitOpError("its schedule `attention` cannot be: ") << wrong;
  return AttentionEmitter(kernel, *attention).run();
}

} // namespace tilewright::cuda
