//===- EmitScatter.cpp - the schedule `scatter`: one warp per row ---------===//
//
// Before (the gradient of an embedding: old[index[i, j], k] += source[i, j, k]):
//   %r = tw_tile.scatter add {dest_map = (i, j, k)[s] -> (s, k)} ins(%source, %index) outs(%old)
//       tw.schedule = #tw_gpu.schedule<kind = scatter, threads = 256, vector = 4>
// After, for one warp, which computes row s of the destination, or a piece of up to 8 x 32 vectors of the row:
//   sums = old[s, its elements]
//   for start in 0 .. I*J step 1024                  // each thread tests 4 indices of the source at the same time
//     if bar.red.or(a tested index is one of the 8 rows of the block)
//       for group in the groups of 32 indices from start that contain such an index {
//         hits = vote.ballot(index[group + lane] == s)
//         while hits { n = lowest bit; sums += source[group + n, its elements]; hits &= hits - 1 } }
//   the row = sums
//
// Only the index tensors determine which elements of the source are combined with a row, and the indices do not depend
// on the loops within the row. Therefore, one search by a warp replaces the searches of 32 separate threads. Source
// elements are combined in their order, as the op requires. In the schedule `elements`, by contrast, each thread does
// this search for one element of the destination.
//
// Tests: test/Codegen/NVPTX/scatter.mlir, test/Python/test_cuda.py (test_scatter_*)
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/ScatterRows.h"
#include "lib/Codegen/GPU/ThreadCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tilewright::gpu {

std::optional<ScatterRows> matchScatterRows(func::FuncOp kernel, std::string &reason) {
  auto fails = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };
  Operation *terminator = kernel.getBody().front().getTerminator();
  auto op = terminator->getNumOperands() == 1 ? terminator->getOperand(0).getDefiningOp<tile::ScatterOp>() : nullptr;
  if (!op)
    return fails("its only result is not computed by a scatter");
  ScatterRows rows{op};
  SmallVector<AffineExpr> ofSource = tile::sizesOf(op.getInputs()[0]),
                          ofDestination = tile::sizesOf(op.getOutputs()[0]);
  auto determinesIndex = [&](unsigned loop) {
    return llvm::any_of(op.getIndexMaps(),
                        [&](Attribute map) { return cast<AffineMapAttr>(map).getValue().isFunctionOfDim(loop); });
  };
  llvm::SmallDenseSet<unsigned> used;
  for (auto [dim, expr] : llvm::enumerate(op.getDestMap().getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    const bool isOfLoop =
        loop && ofSource[loop.getPosition()] == ofDestination[dim] && used.insert(loop.getPosition()).second;
    if (isOfLoop && !determinesIndex(loop.getPosition())) {
      rows.direct.push_back(dim);
      rows.loopOfDirect.push_back(loop.getPosition());
      continue;
    }
    rows.searched.push_back(dim);
    if (isOfLoop) {
      rows.batch.push_back(dim);
      rows.loopOfBatch.push_back(loop.getPosition());
    }
  }
  for (unsigned loop = 0; loop < ofSource.size(); ++loop)
    if (!used.contains(loop))
      rows.free.push_back(loop);
  if (!rows.batch.empty() && rows.direct.empty())
    return fails("an index depends on the position of an element in the row");
  if (rows.searched.size() == rows.batch.size() || rows.free.empty())
    return fails("the scatter has no dimension with computed indices");
  return rows;
}

namespace {

class ScatterEmitter : ThreadCode {
public:
  ScatterEmitter(ThreadKernel &kernel, const ScatterRows &rows)
      : ThreadCode(kernel), rows(rows), scatter(rows.op), source(scatter.getInputs()[0]), old(scatter.getOutputs()[0]),
        type(cast<ShapedType>(old.getType()).getElementType()), vector(schedule.vector) {
    loc = rows.op->getLoc();
  }

  void run() {
    for (unsigned dim : rows.direct)
      extents.push_back(elements.size(old, dim));
    for (unsigned loop : rows.free)
      freeExtents.push_back(elements.size(source, loop));
    for (unsigned dim : rows.searched)
      rowExtents.push_back(elements.size(old, dim));
    layOut();
    const int64_t perBlock = schedule.threads / warpSize;
    Value own = elements.add(elements.multiply(kernel.block, index(perBlock)), quotient(kernel.thread, warpSize));
    Value all = elements.multiply(product(rowExtents), pieces), last = elements.add(all, index(-1));
    // All warps of the block search, because they wait for each other. A warp without a row searches for the last row,
    // but does not access the destination.
    Value exists = isLess(own, all);
    Value number = arith::MinUIOp::create(builder, loc, own, last);
    SmallVector<Value> of(rowExtents);
    of.push_back(pieces);
    row = elements.delinearize(number, of);
    rowNumber = arith::DivUIOp::create(builder, loc, number, pieces);
    lane = remainder(kernel.thread, warpSize);
    first =
        elements.add(elements.multiply(row.pop_back_val(), index(perPiece)), elements.multiply(lane, index(vector)));
    SmallVector<Value> sums = onlyIf(exists, SmallVector<Value>(size_t(groups * vector), zero()), [&] {
      return guarded([&](ArrayRef<Value> at, Value) { return elements.element(old, at); });
    });
    sums = rows.batch.empty() ? searchTogether(perBlock, last, sums) : search(count(), sums);
    when(exists, [&] { write(sums); });
  }

private:
  Value product(ArrayRef<Value> values) {
    Value all = index(1);
    for (Value value : values)
      all = elements.multiply(all, value);
    return all;
  }

  /// Assigns each piece of a row to one warp, and sets the grid.
  void layOut() {
    MLIRContext *context = builder.getContext();
    AffineExpr length = getAffineConstantExpr(1, context), count = length;
    SmallVector<AffineExpr> sizes = tile::sizesOf(old);
    for (unsigned dim : rows.direct)
      length = length * sizes[dim];
    for (unsigned dim : rows.searched)
      count = count * sizes[dim];
    const int64_t perGroup = warpSize * vector;
    auto known = dyn_cast<AffineConstantExpr>(length);
    groups = known ? std::clamp<int64_t>(llvm::divideCeil(known.getValue(), perGroup), 1, mostGroups) : mostGroups;
    perPiece = groups * perGroup;
    rowLength = product(extents);
    whole = dividesEvenly(rowLength, perPiece);
    pieces = divideUp(rowLength, perPiece);
    kernel.setGrid((count * length.ceilDiv(perPiece)).ceilDiv(schedule.threads / warpSize));
  }

  /// Calls `make` for each element of the lane. If an index may be outside of the row, the code is emitted in a branch.
  SmallVector<Value> guarded(llvm::function_ref<Value(ArrayRef<Value> at, Value sum)> make,
                             ValueRange accumulated = {}) {
    SmallVector<Value> made;
    for (int64_t group = 0; group < groups; ++group) {
      Value begin = elements.add(first, index(group * warpSize * vector));
      auto makeGroup = [&] {
        SmallVector<Value> values;
        for (int64_t i = 0; i < vector; ++i) {
          SmallVector<Value> inRow = elements.delinearize(elements.add(begin, index(i)), extents);
          SmallVector<Value> at = atRow();
          for (auto [dim, position] : llvm::zip_equal(rows.direct, inRow))
            at[dim] = position;
          values.push_back(make(at, accumulated.empty() ? Value() : accumulated[group * vector + i]));
        }
        return values;
      };
      if (whole) {
        made.append(makeGroup());
        continue;
      }
      Value inside = isLess(begin, rowLength);
      auto branch = scf::IfOp::create(builder, loc, SmallVector<Type>(vector, type), inside, /*withElse=*/true);
      elements.inScope([&] {
        builder.setInsertionPointToStart(&branch.getThenRegion().front());
        scf::YieldOp::create(builder, loc, makeGroup());
        builder.setInsertionPointToStart(&branch.getElseRegion().front());
        SmallVector<Value> others = accumulated.empty() ? SmallVector<Value>(vector, zero())
                                                        : SmallVector<Value>(accumulated.slice(group * vector, vector));
        scf::YieldOp::create(builder, loc, others);
      });
      made.append(branch.getResults().begin(), branch.getResults().end());
    }
    return made;
  }

  Value zero() { return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)); }

  /// Returns the indices of the warp's row in the searched dimensions of the destination, and no values in the others.
  SmallVector<Value> atRow() {
    SmallVector<Value> at(cast<ShapedType>(old.getType()).getRank());
    for (auto [dim, position] : llvm::zip_equal(rows.searched, row))
      at[dim] = position;
    return at;
  }

  /// Returns the loop indices of a source element. The free loops (ScatterRows.h) have the linear index `linear`. The
  /// indices of the direct loops are the destination's indices `at`, or 0 if `at` is empty.
  SmallVector<Value> loopsAt(Value linear, ArrayRef<Value> at) {
    SmallVector<Value> loops(cast<ShapedType>(source.getType()).getRank());
    for (auto [loop, value] : llvm::zip_equal(rows.free, elements.delinearize(linear, freeExtents)))
      loops[loop] = value;
    for (auto [loop, dim] : llvm::zip_equal(rows.loopOfDirect, rows.direct))
      loops[loop] = at.empty() ? index(0) : at[dim];
    const SmallVector<Value> ofRow = atRow();
    for (auto [loop, dim] : llvm::zip_equal(rows.loopOfBatch, rows.batch))
      loops[loop] = ofRow[dim];
    return loops;
  }

  /// Returns the number of source rows.
  Value count() { return product(freeExtents); }

  /// Searches all source rows. The threads of the block test the indices of at most 32 groups of 32 source rows at the
  /// same time. If an index is a row of the block, or is out of range, all warps search the groups with such an index.
  SmallVector<Value> searchTogether(int64_t warps, Value last, ArrayRef<Value> initial) {
    const int64_t tests = warpSize / warps, words = warps * tests, step = words * warpSize;
    Value end = count(), begin = elements.multiply(kernel.block, index(warps));
    if (auto known = getConstantIntValue(end); known && *known < step)
      return search(end, initial);
    auto rowOf = [&](Value number) -> Value {
      return arith::DivUIOp::create(builder, loc, arith::MinUIOp::create(builder, loc, number, last), pieces);
    };
    Value from = rowOf(begin), to = rowOf(elements.add(begin, index(warps - 1)));
    Value ofBlock = elements.add(arith::SubIOp::create(builder, loc, to, from), index(1));
    Value groups = kernel.allocateShared(words * 4);
    auto group = [&](Value at) -> Value {
      Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), at);
      return LLVM::GEPOp::create(builder, loc, groups.getType(), builder.getI32Type(), groups,
                                 ArrayRef<LLVM::GEPArg>{wide});
    };
    return loopOver(index(0), end, step, initial, [&](Value start, ArrayRef<Value> sums) {
      SmallVector<Value> reached =
          tested(elements.add(start, kernel.thread), warps * warpSize, tests, end, from, ofBlock);
      return onlyIf(kernel.threads.anyInBlock(builder, loc, anyOf(reached)), sums, [&] {
        // A warp reads the words before the next call of anyInBlock(), so that other warps may write them after it.
        for (auto [test, votes] : llvm::enumerate(reached)) {
          Value word = ballot(votes);
          Value at = elements.add(index(int64_t(test) * warps), quotient(kernel.thread, warpSize));
          when(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, index(0)),
               [&] { LLVM::StoreOp::create(builder, loc, word, group(at)); });
        }
        kernel.barrier();
        Value mine = words < warpSize ? arith::MinUIOp::create(builder, loc, lane, index(words - 1)).getResult() : lane;
        Value found = isSet(LLVM::LoadOp::create(builder, loc, builder.getI32Type(), group(mine)));
        if (words < warpSize)
          found = both(found, isLess(lane, index(words)));
        return overBits(ballot(found), sums, [&](Value word, ArrayRef<Value> now) {
          return takeHits(elements.add(start, elements.multiply(word, index(warpSize))), end, now);
        });
      });
    });
  }

  /// Combines the sums with the source rows that are scattered to the warp's row. The number of source rows is `end`.
  SmallVector<Value> search(Value end, ArrayRef<Value> initial) {
    constexpr int64_t tests = 4; // of a lane at the same time
    return loopOver(index(0), end, warpSize * tests, initial, [&](Value begin, ArrayRef<Value> sums) {
      SmallVector<Value> reached = tested(elements.add(begin, lane), warpSize, tests, end, rowNumber, index(1));
      return onlyIf(isSet(ballot(anyOf(reached))), sums, [&] {
        return loopOver(begin, elements.add(begin, index(warpSize * tests)), warpSize, sums,
                        [&](Value inside, ArrayRef<Value> now) { return takeHits(inside, end, now); });
      });
    });
  }

  /// Returns, for each of the source rows `own`, `own + apart`, ... (`tests` rows), whether it is below `end`
  /// and is scattered to one of the `number` rows from `from`, or has an index out of range. The indices are read
  /// without branches, so that several reads run at the same time.
  SmallVector<Value> tested(Value own, int64_t apart, int64_t tests, Value end, Value from, Value number) {
    Value last = elements.add(end, index(-1));
    SmallVector<Value> reached;
    for (int64_t test = 0; test < tests; ++test) {
      Value mine = elements.add(own, index(test * apart));
      Value place = arith::MinUIOp::create(builder, loc, mine, last);
      reached.push_back(
          both(isLess(mine, end), elements.reachesRows(scatter, loopsAt(place, {}), rows.searched, from, number)));
    }
    return reached;
  }

  Value anyOf(ArrayRef<Value> conditions) {
    Value any = conditions.front();
    for (Value condition : conditions.drop_front())
      any = arith::OrIOp::create(builder, loc, any, condition);
    return any;
  }

  Value isSet(Value word) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, word,
                                 arith::ConstantIntOp::create(builder, loc, 0, 32));
  }

  using Body = llvm::function_ref<SmallVector<Value>(Value, ArrayRef<Value>)>;

  SmallVector<Value> loopOver(Value from, Value to, int64_t step, ArrayRef<Value> initial, Body body) {
    auto loop = scf::ForOp::create(builder, loc, from, to, index(step), initial);
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next = body(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs()));
      builder.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(builder, loc, next);
    });
    builder.setInsertionPointAfter(loop);
    return SmallVector<Value>(loop.getResults());
  }

  /// Returns the results of `body` if `condition` is true, and otherwise `sums`.
  SmallVector<Value> onlyIf(Value condition, ArrayRef<Value> sums, llvm::function_ref<SmallVector<Value>()> body) {
    auto branch = scf::IfOp::create(builder, loc, TypeRange(ValueRange(sums)), condition, /*withElse=*/true);
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(builder, loc, sums);
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      SmallVector<Value> next = body();
      scf::YieldOp::create(builder, loc, next);
    });
    builder.setInsertionPointAfter(branch);
    return SmallVector<Value>(branch.getResults());
  }

  /// Returns the condition that the source elements with the linear index `mine` in the free loops are scattered to
  /// this warp's row. The index must be below `end`.
  Value hit(Value mine, Value end) {
    Value place = arith::MinUIOp::create(builder, loc, mine, elements.add(end, index(-1)));
    return both(isLess(mine, end), elements.meets(scatter, loopsAt(place, {}), atRow(), rows.searched));
  }

  Value ballot(Value vote) { return kernel.threads.ballot(builder, loc, vote); }

  /// Combines the sums with those of the 32 source rows from `begin` that are scattered to the warp's row, in their
  /// order. Reports indices that are out of range.
  SmallVector<Value> takeHits(Value begin, Value end, ArrayRef<Value> sums) {
    return overBits(ballot(hit(elements.add(begin, lane), end)), sums, [&](Value bit, ArrayRef<Value> now) {
      Value linear = elements.add(begin, bit);
      return guarded(
          [&](ArrayRef<Value> at, Value sum) {
            return combineScattered(builder, loc, scatter.getKind(), sum,
                                    elements.element(source, loopsAt(linear, at)));
          },
          now);
    });
  }

  /// Calls `body` in a loop over the bits that are set in `word`, an i32, in ascending order.
  SmallVector<Value> overBits(Value word, ArrayRef<Value> initial, Body body) {
    SmallVector<Value> state{word};
    llvm::append_range(state, initial);
    auto loop = scf::WhileOp::create(
        builder, loc, TypeRange(ValueRange(state)), state,
        [&](OpBuilder &inside, Location, ValueRange now) { scf::ConditionOp::create(inside, loc, isSet(now[0]), now); },
        [&](OpBuilder &, Location, ValueRange) {});
    elements.inScope([&] {
      Block *block = loop.getAfterBody();
      builder.setInsertionPointToStart(block);
      Value bits = block->getArgument(0), one = arith::ConstantIntOp::create(builder, loc, 1, 32);
      Value lowest = math::CountTrailingZerosOp::create(builder, loc, bits);
      SmallVector<Value> next = body(arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), lowest),
                                     SmallVector<Value>(block->getArguments().drop_front()));
      next.insert(next.begin(),
                  arith::AndIOp::create(builder, loc, bits, arith::SubIOp::create(builder, loc, bits, one)));
      scf::YieldOp::create(builder, loc, next);
    });
    builder.setInsertionPointAfter(loop);
    return SmallVector<Value>(loop.getResults().drop_front());
  }

  void write(ArrayRef<Value> sums) {
    BlockArgument destination = kernel.results().front().second;
    guarded(
        [&](ArrayRef<Value> at, Value sum) {
          elements.store(sum, destination, at, kernel.pointers[destination]);
          return sum;
        },
        sums);
  }

  static constexpr int64_t mostGroups = 8; ///< maximum number of vectors of a row per lane

  const ScatterRows &rows;
  tile::ScatterOp scatter;
  Value source, old;
  Type type;
  int64_t vector;
  int64_t groups = 1, perPiece = 0;
  bool whole = false; ///< the row length is a multiple of the length of a piece
  SmallVector<Value> extents, freeExtents, rowExtents;
  Value rowLength, pieces;
  SmallVector<Value> row; ///< indices of the warp's row in the searched dimensions
  Value rowNumber;        ///< linear index of the warp's row
  Value lane, first;      ///< first: the lane's first index in the row
};

} // namespace

LogicalResult emitScatter(ThreadKernel &kernel) {
  std::string reason;
  std::optional<ScatterRows> rows = matchScatterRows(kernel.from, reason);
  if (!rows)
    return kernel.from.emitOpError("its schedule `scatter` does not fit: ") << reason;
  ScatterEmitter(kernel, *rows).run();
  return success();
}

} // namespace tilewright::gpu
