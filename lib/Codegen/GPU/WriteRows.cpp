//===- WriteRows.cpp - the epilogue of a product in a kernel that reduces its rows --------===//
//
// If a tile has all columns of C, the registers of four lanes of a warp contain a row of sums:
//
//   h[c] = the operands of the reductions, for each column c of the lane
//   s    = sum over c of h[c] * h[c]; s += s of lane ^ 1; s += s of lane ^ 2
//   store f(h[c], s) for each c
//
// Reductions run one after the other, in the kernel's order, because a reduction may use the result of an earlier
// reduction: a variance uses differences from the mean. The order of additions is the same in each run.
//
// Tests: test/Codegen/GPU/Schedule/join-rows.mlir, test/Python/test_cuda_join_rows.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/ContractionCode.h"

using namespace mlir;

namespace tilewright::gpu {

void ContractionCode::writeRows(Value lane, Value firstRow, const Fragments &fragments, ArrayRef<Value> sums) {
  Value rows = extentOf(contraction.rows);
  const unsigned columnLoop = contraction.columns.front();
  const int64_t exchanged = fragmentsTogether(fragments.tilesN, extentOf(contraction.columns));
  Value rowInTile = quotient(lane, 4), inFour = remainder(lane, 4);
  Value columnInTile = elements.add(elements.multiply(remainder(inFour, exchanged), index(8)),
                                    elements.multiply(quotient(inFour, exchanged), index(2 * exchanged)));
  const bool wholeRows = dividesEvenly(rows, schedule.m * schedule.cluster);
  for (int64_t i = 0; i < fragments.tilesM; ++i)
    for (int64_t half = 0; half < 2; ++half) {
      Value inTile = elements.add(firstRow, elements.add(index(i * fragments.rowStep + half * 8), rowInTile));
      Value row = elements.add(rowOrigin, inTile), inside;
      if (!wholeRows) {
        // Lanes past the last row also compute a row, because all lanes of a warp must participate in the exchange.
        // These lanes do not store the row.
        inside = isLess(row, rows);
        row = arith::MinUIOp::create(builder, loc, row, elements.add(rows, index(-1)));
      }
      SmallVector<Value> indices = loops, columns, mine;
      setLoops(indices, contraction.rows, row);
      for (int64_t j = 0; j < fragments.tilesN; j += exchanged) {
        Value column = elements.add(columnOrigin, elements.add(index(j * 8), columnInTile));
        elements.assumeMultiple(column, 2 * exchanged);
        SmallVector<Value> some;
        for (int64_t fragment = j; fragment < j + exchanged; ++fragment)
          llvm::append_range(some, sums.slice(size_t((i * fragments.tilesN + fragment) * 4 + half * 2), 2));
        llvm::append_range(mine, exchange(lane, some));
        for (int64_t number = 0; number < 2 * exchanged; ++number)
          columns.push_back(elements.add(column, index(number)));
      }
      auto at = [&](ArrayRef<unsigned> of) {
        return llvm::map_to_vector(of, [&](unsigned loop) { return indices[loop]; });
      };
      auto moveTo = [&](size_t number) {
        indices[columnLoop] = columns[number];
        elements.provide(contraction.op->getResult(0), [sum = mine[number]](ArrayRef<Value>) { return sum; });
      };
      for (const RowSum &sum : contraction.rowSums)
        reduceRow(sum, columns.size(), moveTo, at);
      struct Made {
        Value value;
        BlockArgument destination;
        SmallVector<Value> at;
      };
      SmallVector<Made> made;
      for (size_t number = 0; number < columns.size(); ++number) {
        moveTo(number);
        for (auto [result, of] : llvm::zip_equal(kernel.results(), contraction.results))
          made.push_back({elements.element(result.first, at(of)), result.second, at(of)});
      }
      when(inside, [&] {
        for (Made &each : made)
          elements.store(each.value, each.destination, each.at, kernel.pointers[each.destination]);
      });
    }
}

void ContractionCode::reduceRow(const RowSum &sum, size_t columns, llvm::function_ref<void(size_t)> moveTo,
                                llvm::function_ref<SmallVector<Value>(ArrayRef<unsigned>)> at) {
  linalg::LinalgOp op = sum.op;
  SmallVector<Value> accumulated;
  for (unsigned number = 0; number < op->getNumResults(); ++number)
    accumulated.push_back(arith::ConstantOp::create(builder, loc, tile::identityOf(tile::combinerOf(op, number))));
  for (size_t column = 0; column < columns; ++column) {
    moveTo(column);
    accumulated = elements.yielded(op, at(sum.loops), accumulated);
  }
  for (auto [number, value] : llvm::enumerate(accumulated)) {
    Operation *combiner = tile::combinerOf(op, unsigned(number));
    for (int32_t mask : {1, 2})
      value = combine(builder, combiner, value, shuffle(kernel, value, mask));
    OpOperand *init = op.getDpsInitOperand(int64_t(number));
    SmallVector<Value> loopIndices = at(sum.loops), mapped;
    for (AffineExpr expr : op.getMatchingIndexingMap(init).getResults())
      mapped.push_back(loopIndices[cast<AffineDimExpr>(expr).getPosition()]);
    value = combine(builder, combiner, elements.element(init->get(), mapped), value);
    elements.provide(op->getResult(unsigned(number)), [value](ArrayRef<Value>) { return value; });
  }
}

} // namespace tilewright::gpu
