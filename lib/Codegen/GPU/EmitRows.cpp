//===- EmitRows.cpp - the schedule `rows`: threads that share a row of a kernel ----------===//
//
// A kernel's rows (dialects/Tile/Rows.h) are the leading dimensions of its results. Softmax and norms reduce the
// remaining dimensions and read them again. A group of threads (4 to 32 lanes of a warp, a block, or one thread of each
// warp of a block) computes each row:
//
//   softmax, 7 x 512 bf16, {group = 32, vector = 8}: lane l has the elements 8 l ... 8 l + 7 and 256 + 8 l ... of a row
//     load them (once: every op uses the same indices) ; max in registers ; five shuffles ; exp, sum ; five shuffles
//     ; divide, store
//
// An operand that a product reads repeatedly (such as the weights of attention) is first stored in shared memory, if it
// fits.
//
// GroupReduction.cpp reduces the values of a group. On sm_90, the blocks of a cluster share the row if it is too long
// for the registers of one block, or if multiprocessors would be idle. If the warps of a block share 32 adjacent rows,
// the blocks of a cluster share these rows if multiprocessors would be idle. Kernels with a product do not use
// clusters. A block of a cluster exits only after the other blocks have read its shared memory for the last time. If a
// row has a symbolic size, or does not fit in the registers of the block or cluster, each op reads it in a loop.
//
// Tests: test/Codegen/NVPTX/softmax.mlir, test/Codegen/NVPTX/long-rows.mlir, test/Codegen/NVPTX/rows-cluster.mlir,
// test/Codegen/NVPTX/rows-across-lanes-cluster.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/GroupReduction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The number of vectors that a thread combines into one partial result if a row is too long for registers.
constexpr int64_t chunkLength = 16;

class RowEmitter {
public:
  RowEmitter(ThreadKernel &kernel, tile::RowMap rows)
      : kernel(kernel), builder(kernel.builder), elements(kernel.elements), loc(kernel.loc()), rows(std::move(rows)),
        vector(kernel.schedule.vector), cluster(kernel.schedule.cluster), reduction(kernel),
        group(reduction.threads()) {}

  LogicalResult run(Operation *anchor) {
    locateRow(anchor->getResult(0));
    const bool reduces = llvm::any_of(rows.rowOfLoop, [&](auto &entry) {
      auto op = dyn_cast<linalg::LinalgOp>(entry.first);
      return op && reducesRow(op);
    });
    if (reduces)
      reduction.allocateBuffers();
    for (Operation &op : kernel.from.getBody().front()) {
      auto member = dyn_cast<linalg::LinalgOp>(op);
      if (member && reducesRow(member))
        reduce(member);
      else if (member && isMultiplied(member)) {
        if (cluster > 1)
          whyNot = "a product reads the whole row, but each block of a cluster has only a part of the row";
        share(member);
      }
    }
    if (cluster > 1 && reduces)
      kernel.threads.arriveAtCluster(builder, loc);
    for (auto [value, destination] : kernel.results())
      if (failed(describe(value, destination)))
        return failure();
    // Compute all results at the same indices before storing any of them, because a result may be stored in the memory
    // of an operand.
    for (size_t first = 0; first < outputs.size();) {
      size_t end = first + 1;
      while (end < outputs.size() && outputs[end].extents == outputs[first].extents)
        ++end;
      write(ArrayRef(outputs).slice(first, end - first));
      first = end;
    }
    if (cluster > 1 && reduces) // other blocks may still read this block's slots
      kernel.threads.waitForCluster(builder, loc);
    if (!whyNot.empty())
      return kernel.from.emitOpError("its schedule `rows` is invalid: ") << whyNot;
    return success();
  }

private:
  /// A group of adjacent elements of a row that one thread computes. `at` contains the indices of the first element.
  struct Position {
    SmallVector<Value> at;
    Value valid; ///< null: the position is always valid
  };

  Value index(int64_t value) { return elements.constant(value); }

  /// Computes the indices of the row that this thread computes.
  void locateRow(Value result) {
    int64_t perBlock = rowsOfBlock();
    // If `rowsAcrossLanes`, consecutive threads compute consecutive rows. Otherwise, consecutive threads share one row.
    int64_t adjacentThreads = kernel.schedule.rowsAcrossLanes ? perBlock : kernel.schedule.group;
    Value quotient = arith::DivUIOp::create(builder, loc, kernel.thread, index(adjacentThreads));
    Value remainder = arith::RemUIOp::create(builder, loc, kernel.thread, index(adjacentThreads));
    rowInBlock = perBlock == 1 ? index(0) : kernel.schedule.rowsAcrossLanes ? remainder : quotient;
    lane = perBlock == 1 ? kernel.thread : kernel.schedule.rowsAcrossLanes ? quotient : remainder;
    Value block = kernel.block;
    if (cluster > 1) {
      Value rank = arith::RemUIOp::create(builder, loc, block, index(cluster));
      block = arith::DivUIOp::create(builder, loc, block, index(cluster));
      lane = elements.add(elements.multiply(rank, index(kernel.schedule.group)), lane);
    }
    Value row = elements.add(elements.multiply(block, index(perBlock)), rowInBlock);
    SmallVector<Value> extents;
    AffineExpr total = getAffineConstantExpr(1, builder.getContext());
    Value count = index(1);
    for (int64_t dim = 0; dim < rows.numRows; ++dim) {
      extents.push_back(elements.size(result, dim));
      count = elements.multiply(count, extents.back());
      total = total * tile::sizeOf(result, dim);
    }
    auto known = dyn_cast<AffineConstantExpr>(total);
    if (!known || known.getValue() % perBlock != 0) {
      rowValid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, row, count);
      row = arith::MinUIOp::create(builder, loc, row, arith::SubIOp::create(builder, loc, count, index(1)).getResult());
    }
    rowIndices = elements.delinearize(row, extents);
    kernel.setGrid(total.ceilDiv(perBlock) * cluster);
  }

  /// Returns the number of rows per block. The blocks of a cluster share the same rows.
  int64_t rowsOfBlock() { return kernel.schedule.threads / kernel.schedule.group; }

  /// Returns true if each element of `op` is a reduction of elements of one row.
  bool reducesRow(linalg::LinalgOp op) {
    auto found = rows.rowOfLoop.find(op);
    if (found == rows.rowOfLoop.end() || op.getNumReductionLoops() == 0 || isProductOfRows(op, found->second))
      return false;
    for (auto [kind, row] : llvm::zip_equal(op.getIteratorTypesArray(), found->second))
      if ((kind == utils::IteratorType::parallel) != (row >= 0))
        return false;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (!tile::combinerOf(op, i))
        return false;
    return true;
  }

  void reduce(linalg::LinalgOp op) {
    SmallVector<Value> loops;
    SmallVector<unsigned> reduced;
    SmallVector<Value> extents;
    for (auto [loop, row] : llvm::enumerate(rows.rowOfLoop[op])) {
      loops.push_back(row >= 0 ? rowIndices[row] : Value());
      if (row >= 0)
        continue;
      reduced.push_back(loop);
      extents.push_back(elements.loopExtent(op, loop));
    }
    SmallVector<Value> partial, initial;
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      partial.push_back(arith::ConstantOp::create(builder, loc, tile::identityOf(tile::combinerOf(op, i))));
      OpOperand *init = op.getDpsInitOperand(i);
      SmallVector<Value> at;
      for (AffineExpr expr : op.getMatchingIndexingMap(init).getResults())
        at.push_back(elements.evaluate(expr, loops));
      initial.push_back(elements.element(init->get(), at));
    }
    auto merge = [&](ArrayRef<Value> accumulated, ArrayRef<Value> chunk) {
      SmallVector<Value> merged;
      for (unsigned i = 0; i < op->getNumResults(); ++i)
        merged.push_back(combine(builder, tile::combinerOf(op, i), accumulated[i], chunk[i]));
      return merged;
    };
    auto add = [&](Position &at, SmallVector<Value> accumulated) {
      for (int64_t i = 0; i < vector; ++i) {
        SmallVector<Value> indices = adjacent(at, i);
        for (auto [loop, value] : llvm::zip_equal(reduced, indices))
          loops[loop] = value;
        SmallVector<Value> next = elements.yielded(op, loops, accumulated);
        for (auto [mine, added] : llvm::zip_equal(accumulated, next))
          mine = at.valid ? arith::SelectOp::create(builder, loc, at.valid, added, mine).getResult() : added;
      }
      return accumulated;
    };
    partial = overRow(extents, partial, add, merge);
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      Operation *combiner = tile::combinerOf(op, i);
      Value all = combine(builder, combiner, initial[i], reduction.reduce(combiner, partial[i]));
      elements.provide(op->getResult(i), [all](ArrayRef<Value>) { return all; });
    }
  }

  /// Returns true if `op` computes a row that a product of the kernel reads as a whole for each element of the
  /// product's result.
  bool isMultiplied(linalg::LinalgOp op) {
    return rows.rowOfLoop.contains(op) && op->getNumResults() == 1 && !isa<linalg::FillOp>(op) &&
           llvm::any_of(op->getUsers(), [&](Operation *user) {
             auto reader = dyn_cast<linalg::LinalgOp>(user);
             auto found = reader ? rows.rowOfLoop.find(user) : rows.rowOfLoop.end();
             return found != rows.rowOfLoop.end() && isProductOfRows(reader, found->second);
           });
  }

  /// If the row that `op` computes fits in shared memory, stores it there, so that all threads of the group can read
  /// it.
  void share(linalg::LinalgOp op) {
    OpResult result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    Type stored = memoryType(type.getElementType());
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    SmallVector<Value> at(type.getRank()), extents;
    SmallVector<unsigned> inRow;
    int64_t size = 1;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      int64_t row = loop ? rows.rowOfLoop[op][loop.getPosition()] : -1;
      if (row >= 0) {
        at[dim] = rowIndices[row];
        continue;
      }
      inRow.push_back(dim);
      extents.push_back(elements.size(result, dim));
      size *= type.getDimSize(dim);
    }
    int64_t perBlock = rowsOfBlock();
    if (inRow.empty() || !type.hasStaticShape() || kernel.sharedBytes + size * perBlock * 8 > mostStaticShared)
      return; // the row is not shared, and each consumer computes the elements that it reads
    Value base = kernel.allocateShared(size * perBlock * stored.getIntOrFloatBitWidth() / 8);
    Value first = elements.multiply(rowInBlock, index(size));
    auto slot = [this, base, first, stored, extents](ArrayRef<Value> indices) -> Value {
      Value linear = elements.add(first, elements.linearize(indices, extents));
      Value number = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linear);
      return LLVM::GEPOp::create(builder, loc, base.getType(), stored, base, ArrayRef<LLVM::GEPArg>{number});
    };
    overRow(extents, {}, [&](Position &where, SmallVector<Value>) {
      SmallVector<std::pair<Value, SmallVector<Value>>> made;
      for (int64_t i = 0; i < vector; ++i) {
        made.push_back({Value(), adjacent(where, i)});
        for (auto [dim, value] : llvm::zip_equal(inRow, made.back().second))
          at[dim] = value;
        made.back().first = elements.element(result, at);
      }
      guarded(where.valid, [&] {
        for (auto &[value, indices] : made)
          LLVM::StoreOp::create(builder, loc, toMemory(builder, loc, value), slot(indices));
      });
      return SmallVector<Value>();
    });
    if (group <= warpSize && !kernel.schedule.rowsAcrossLanes)
      kernel.threads.syncWarp(builder, loc);
    else
      kernel.barrier();
    elements.provide(result, [this, slot, stored, type, inRow](ArrayRef<Value> at) -> Value {
      SmallVector<Value> indices;
      for (unsigned dim : inRow)
        indices.push_back(at[dim]);
      return fromMemory(builder, loc, LLVM::LoadOp::create(builder, loc, stored, slot(indices)), type.getElementType());
    });
  }

  SmallVector<Value> adjacent(const Position &at, int64_t i) {
    SmallVector<Value> indices(at.at);
    if (!indices.empty())
      indices.back() = adjacentIndices.at({indices.back().getAsOpaquePointer(), i});
    return indices;
  }

  Position positionAt(Value number, Value valid, ArrayRef<Value> extents) {
    Position made{elements.delinearize(number, extents), valid};
    if (!made.at.empty()) {
      Value first = elements.multiply(made.at.back(), index(vector));
      made.at.back() = first;
      for (int64_t i = 0; i < vector; ++i)
        adjacentIndices[{first.getAsOpaquePointer(), i}] = elements.add(first, index(i));
    }
    return made;
  }

  using Body = llvm::function_ref<SmallVector<Value>(Position &, SmallVector<Value>)>;
  using Merge = llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ArrayRef<Value>)>;

  /// Calls `body` for each position of this thread in an index space with these extents. With `merge`, a long row is
  /// reduced in chunks, and each chunk starts from `carried`, so that rounding errors do not accumulate along the row.
  SmallVector<Value> overRow(SmallVector<Value> extents, SmallVector<Value> carried, Body body, Merge merge = nullptr) {
    if (!extents.empty()) {
      std::optional<int64_t> last = getConstantIntValue(extents.back());
      if (vector > 1 && (!last || *last % vector != 0) && whyNot.empty())
        whyNot = "a row of " + (last ? std::to_string(*last) : "symbolic size") +
                 " cannot be divided into vectors of " + std::to_string(vector);
      if (last)
        extents.back() = index(*last / vector);
    }
    Value count = index(1);
    std::optional<int64_t> known = 1;
    for (Value extent : extents) {
      count = elements.multiply(count, extent);
      std::optional<int64_t> size = getConstantIntValue(extent);
      known = known && size ? std::optional<int64_t>(*known * *size) : std::nullopt;
    }
    if (known)
      count = index(*known);
    if (known && *known > 0 && llvm::divideCeil(*known, group) * vector <= mostOfRowInRegisters) {
      std::vector<Position> &mine = positionsOf(extents, *known);
      for (Position &at : mine)
        carried = body(at, carried);
      return carried;
    }
    if (!merge)
      return loopOver(index(0), count, extents, count, known && *known % group == 0, carried, body);
    int64_t chunk = group * chunkLength;
    auto outer = scf::ForOp::create(builder, loc, index(0), count, index(chunk), carried);
    elements.inScope([&] {
      builder.setInsertionPointToStart(outer.getBody());
      Value begin = outer.getInductionVar();
      Value end = arith::MinUIOp::create(builder, loc, elements.add(begin, index(chunk)), roundedUp(count, known));
      SmallVector<Value> sum = loopOver(begin, end, extents, count, known && *known % group == 0, carried, body);
      builder.setInsertionPointToEnd(outer.getBody());
      SmallVector<Value> accumulated(outer.getRegionIterArgs().begin(), outer.getRegionIterArgs().end());
      scf::YieldOp::create(builder, loc, merge(accumulated, sum));
    });
    return SmallVector<Value>(outer.getResults());
  }

  /// Rounds `count` up to a multiple of the group size, so that a loop has the same number of iterations for all
  /// threads.
  Value roundedUp(Value count, std::optional<int64_t> known) {
    if (known)
      return index(llvm::alignTo(*known, group));
    Value more = elements.add(count, index(group - 1));
    return elements.multiply(arith::DivUIOp::create(builder, loc, more, index(group)), index(group));
  }

  /// Emits a loop over the group's linear indices from `begin` to `end`. If `whole`, all of these indices are less than
  /// `count`.
  SmallVector<Value> loopOver(Value begin, Value end, ArrayRef<Value> extents, Value count, bool whole,
                              SmallVector<Value> carried, Body body) {
    auto loop = scf::ForOp::create(builder, loc, begin, end, index(group), carried);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value number = elements.add(loop.getInductionVar(), lane), valid;
      if (!whole) {
        valid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, count);
        number = arith::MinUIOp::create(builder, loc, number,
                                        arith::SubIOp::create(builder, loc, count, index(1)).getResult());
      }
      Position at = positionAt(number, valid, extents);
      SmallVector<Value> next =
          body(at, SmallVector<Value>(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end()));
      builder.setInsertionPointToEnd(loop.getBody());
      if (!carried.empty())
        scf::YieldOp::create(builder, loc, next);
    });
    return SmallVector<Value>(loop.getResults());
  }

  /// Returns this thread's positions in an index space with these extents. Each call returns the same values, so that
  /// an op can reuse the elements that an earlier op has loaded or computed.
  std::vector<Position> &positionsOf(ArrayRef<Value> extents, int64_t count) {
    std::vector<const void *> key;
    for (Value extent : extents)
      key.push_back(extent.getAsOpaquePointer());
    std::vector<Position> &positions = known[key];
    for (int64_t first = 0; first < count && int64_t(positions.size()) * group < count; first += group) {
      Value number = elements.add(lane, index(first)), valid;
      if (first + group > count) {
        valid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, index(count));
        number = arith::MinUIOp::create(builder, loc, number, index(count - 1));
      }
      positions.push_back(positionAt(number, valid, extents));
    }
    return positions;
  }

  /// A result. `at` has the indices of the row dimensions; `inRow` lists the dimensions inside a row.
  struct Output {
    Value value;
    BlockArgument destination;
    SmallVector<Value> at, extents;
    SmallVector<unsigned> inRow;
  };

  LogicalResult describe(Value value, BlockArgument destination) {
    auto op = value.getDefiningOp<linalg::LinalgOp>();
    auto found = op ? rows.rowOfLoop.find(op) : rows.rowOfLoop.end();
    if (found == rows.rowOfLoop.end())
      return kernel.from.emitOpError("its schedule `rows` supports only results of structured ops");
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(cast<OpResult>(value).getResultNumber()));
    Output made{value, destination, SmallVector<Value>(map.getNumResults()), {}, {}};
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      int64_t row = loop ? found->second[loop.getPosition()] : -1;
      if (row >= 0) {
        made.at[dim] = rowIndices[row];
        continue;
      }
      made.inRow.push_back(dim);
      made.extents.push_back(elements.size(destination, dim));
    }
    outputs.push_back(std::move(made));
    return success();
  }

  void guarded(Value condition, llvm::function_ref<void()> body) {
    OpBuilder::InsertionGuard guard(builder);
    if (condition) {
      auto branch = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
    }
    body();
  }

  /// Writes consecutive outputs that have the same extents.
  void write(ArrayRef<Output> outputs) {
    struct Made {
      Value element;
      const Output *output;
      SmallVector<Value> at;
    };
    SmallVector<Made> made;
    auto storeAll = [&] {
      for (Made &each : made)
        elements.store(each.element, each.output->destination, each.at, kernel.pointers[each.output->destination]);
    };
    auto both = [&](Value a, Value b) -> Value {
      return a && b ? arith::AndIOp::create(builder, loc, a, b).getResult() : a ? a : b;
    };
    if (outputs.front().inRow.empty()) {
      for (const Output &output : outputs)
        made.push_back({elements.element(output.value, output.at), &output, output.at});
      Value one = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, index(0));
      guarded(both(one, rowValid), storeAll);
      return;
    }
    overRow(outputs.front().extents, {}, [&](Position &where, SmallVector<Value>) {
      made.clear();
      for (const Output &output : outputs)
        for (int64_t i = 0; i < vector; ++i) {
          SmallVector<Value> at = output.at;
          for (auto [dim, value] : llvm::zip_equal(output.inRow, adjacent(where, i)))
            at[dim] = value;
          made.push_back({elements.element(output.value, at), &output, at});
        }
      guarded(both(where.valid, rowValid), storeAll);
      return SmallVector<Value>();
    });
  }

  ThreadKernel &kernel;
  OpBuilder &builder;
  Elements &elements;
  Location loc;
  tile::RowMap rows;
  int64_t vector, cluster;
  GroupReduction reduction;
  int64_t group; ///< number of threads that share a row, in all blocks of a cluster
  Value lane;    ///< index of this thread in the group
  Value rowInBlock;
  Value rowValid; ///< null: the row is always valid
  SmallVector<Value> rowIndices;
  std::vector<Output> outputs;
  std::string whyNot; ///< why the schedule does not fit
  std::map<std::vector<const void *>, std::vector<Position>> known;
  std::map<std::pair<const void *, int64_t>, Value> adjacentIndices;
};

} // namespace

LogicalResult emitRows(ThreadKernel &kernel) {
  const SmallVector<Operation *> members = structuredOpsOf(kernel.from);
  std::string reason = "it has no structured op";
  std::optional<tile::RowMap> rows = members.empty() ? std::nullopt : tile::computeRows(members, reason);
  if (!rows)
    return kernel.from.emitOpError("its schedule `rows` does not fit: ") << reason;
  return RowEmitter(kernel, std::move(*rows)).run(members.back());
}

} // namespace tilewright::gpu
