//===- EmitScatter.cpp - the schedule `scatter`: one warp per row ---------===//
//
// Before (the gradient of an embedding: old[index[i, j], k] += source[i, j, k]):
//   %r = tw_tile.scatter add {dest_map = (i, j, k)[s] -> (s, k)} ins(%source, %index) outs(%old)
//       tw.schedule = #tw_gpu.schedule<kind = scatter, threads = 256, vector = 4>
// After, for one warp, which computes row s of the destination, or a piece of up to 8 x 32 vectors of the row:
//   sums = old[s, its elements]
//   for first in 0 .. I*J step 32 {                  // each lane tests one index of the source
//     hits = vote.ballot(index[first + lane] == s)
//     while hits { n = lowest bit; sums += source[first + n, its elements]; hits &= hits - 1 } }
//   the row = sums
//
// Only the index tensors determine which elements of the source are combined with a row, and the indices do not depend
// on the loops within the row. Therefore, one search by a warp replaces the searches of 32 separate threads. Source
// elements are combined in their order, as the op requires. In the schedule `elements`, by contrast, each thread does
// this search for one element of the destination.
//
// Tests: test/Codegen/NVPTX/scatter.mlir, test/Python/test_cuda.py (test_scatter_of_rows_matches_eager)
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
  llvm::SmallDenseMap<unsigned, unsigned> dimOfLoop;
  for (auto [dim, expr] : llvm::enumerate(op.getDestMap().getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (loop && ofSource[loop.getPosition()] == ofDestination[dim] &&
        dimOfLoop.try_emplace(loop.getPosition(), dim).second) {
      rows.direct.push_back(dim);
      rows.loopOfDirect.push_back(loop.getPosition());
    } else {
      rows.searched.push_back(dim);
    }
  }
  for (unsigned loop = 0; loop < ofSource.size(); ++loop)
    if (!dimOfLoop.contains(loop))
      rows.free.push_back(loop);
  for (Attribute map : op.getIndexMaps())
    for (unsigned loop : rows.loopOfDirect)
      if (cast<AffineMapAttr>(map).getValue().isFunctionOfDim(loop))
        return fails("an index depends on the position of an element in the row");
  if (rows.searched.empty() || rows.free.empty())
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
    Value number = elements.add(elements.multiply(kernel.block, index(perBlock)), quotient(kernel.thread, warpSize));
    Value all = elements.multiply(product(rowExtents), pieces);
    when(isLess(number, all), [&] {
      SmallVector<Value> of(rowExtents);
      of.push_back(pieces);
      row = elements.delinearize(number, of);
      lane = remainder(kernel.thread, warpSize);
      first =
          elements.add(elements.multiply(row.pop_back_val(), index(perPiece)), elements.multiply(lane, index(vector)));
      SmallVector<Value> sums = search(guarded([&](ArrayRef<Value> at, Value) { return elements.element(old, at); }));
      write(sums);
    });
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
          SmallVector<Value> at(cast<ShapedType>(old.getType()).getRank());
          for (auto [dim, position] : llvm::zip_equal(rows.searched, row))
            at[dim] = position;
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

  /// Returns the loop indices of a source element. The free loops (ScatterRows.h) have the linear index `linear`. The
  /// indices of the direct loops are the destination's indices `at`, or 0 if `at` is empty.
  SmallVector<Value> loopsAt(Value linear, ArrayRef<Value> at) {
    SmallVector<Value> loops(cast<ShapedType>(source.getType()).getRank());
    for (auto [loop, value] : llvm::zip_equal(rows.free, elements.delinearize(linear, freeExtents)))
      loops[loop] = value;
    for (auto [loop, dim] : llvm::zip_equal(rows.loopOfDirect, rows.direct))
      loops[loop] = at.empty() ? index(0) : at[dim];
    return loops;
  }

  SmallVector<Value> search(SmallVector<Value> initial) {
    Value count = product(freeExtents);
    auto loop = scf::ForOp::create(builder, loc, index(0), count, index(warpSize), initial);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value begin = loop.getInductionVar(), mine = elements.add(begin, lane);
      Value hits = ballot(hit(mine, count));
      SmallVector<Value> state{hits};
      state.append(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      SmallVector<Value> sums = takeAll(begin, state);
      builder.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(builder, loc, sums);
    });
    return SmallVector<Value>(loop.getResults());
  }

  /// Returns the condition that the source elements with the linear index `mine` in the free loops are scattered to
  /// this warp's row. `count` is the number of these indices.
  Value hit(Value mine, Value count) {
    Value exists = isLess(mine, count);
    auto branch = scf::IfOp::create(builder, loc, builder.getI1Type(), exists, /*withElse=*/true);
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      SmallVector<Value> at(cast<ShapedType>(old.getType()).getRank());
      for (auto [dim, position] : llvm::zip_equal(rows.searched, row))
        at[dim] = position;
      scf::YieldOp::create(builder, loc, elements.meets(scatter, loopsAt(mine, {}), at, rows.searched));
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(builder, loc, arith::ConstantIntOp::create(builder, loc, 0, 1).getResult());
    });
    return branch.getResult(0);
  }

  Value ballot(Value vote) { return kernel.threads.ballot(builder, loc, vote); }

  /// Combines the sums, which follow state[0] in `state`, with the source elements whose bits are set in state[0], in
  /// the order of the bits. Returns the new sums.
  SmallVector<Value> takeAll(Value begin, ArrayRef<Value> state) {
    auto loop = scf::WhileOp::create(
        builder, loc, TypeRange(ValueRange(state)), state,
        [&](OpBuilder &inside, Location, ValueRange now) {
          Value none = arith::ConstantIntOp::create(inside, loc, 0, 32);
          scf::ConditionOp::create(inside, loc,
                                   arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::ne, now[0], none), now);
        },
        [&](OpBuilder &, Location, ValueRange) {});
    elements.inScope([&] {
      Block *body = loop.getAfterBody();
      builder.setInsertionPointToStart(body);
      Value hits = body->getArgument(0), one = arith::ConstantIntOp::create(builder, loc, 1, 32);
      Value lowest = math::CountTrailingZerosOp::create(builder, loc, hits);
      Value linear =
          elements.add(begin, arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), lowest).getResult());
      SmallVector<Value> next = guarded(
          [&](ArrayRef<Value> at, Value sum) {
            return combineScattered(builder, loc, scatter.getKind(), sum,
                                    elements.element(source, loopsAt(linear, at)));
          },
          body->getArguments().drop_front());
      Value left = arith::AndIOp::create(builder, loc, hits, arith::SubIOp::create(builder, loc, hits, one));
      next.insert(next.begin(), left);
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
