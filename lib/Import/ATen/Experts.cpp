//===- Experts.cpp - grouped matrix products of plain exports ---------------------------===//
//
//   _grouped_mm(x [rows, I], matrices [groups, I, O], ends [groups])
//
// multiplies the rows before ends[0] by matrices[0], the rows from there to ends[1] by matrices[1], and so on. Rows are
// gathered into blocks, so that all rows of a block are in one group, and each block is multiplied by its group's
// matrix (decision 0020). python/tilewright/decompositions/groups.py is the equivalent for graphs from torch.compile.
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

constexpr int64_t most = 64;    ///< maximum number of rows of a block
constexpr int64_t unknown = 16; ///< rows of a block if the number of rows is symbolic

/// Takes the entries of `x` along its first dimension at `indices`, which may have any rank.
Value at(Node &n, Value x, Value indices) { return take(n, x, {indices}, 0); }

/// Divides non-negative integers by `by`, which is a power of 2.
Value quotient(Node &n, Value x, int64_t by) {
  return by == 1 ? x : n.op<ShiftRightOp>({x, n.scalarInt(llvm::Log2_64(by), n.i64())});
}

/// Returns the group that contains each of the row or block numbers `numbers`. `ends` has the end of each group.
Value groupOf(Node &n, Value ends, AffineExpr groups, Value numbers) {
  Value first = n.sliceDim(ends, 0, n.constantSize(0), canonicalSize(groups - 1));
  Value reached = n.cast(n.compare<LeOp>(n.unsqueeze(first, 0), n.unsqueeze(numbers, 1)), n.i64());
  return n.reduce(ReduceKind::Sum, reached, {1}, false);
}

/// Imports _grouped_mm(self, mat2, offs, bias, out_dtype), and the custom operator of the library transformers, which
/// has only the first three arguments.
Results groupedProduct(Node &n) {
  Value x = n.tensor(0, "self"), matrices = n.tensor(1, "mat2");
  if (!n.demand(n.has(2, "offs"), "groups whose ends are not given") || !n.demand(!n.has(3, "bias"), "with a bias"))
    return n.refused();
  Value ends = n.cast(n.tensor(2, "offs"), n.i64());
  if (!n.demand(n.rankOf(x) == 2 && n.rankOf(matrices) == 3 && n.rankOf(ends) == 1 && n.type().getRank() == 2,
                "its operands are not rows (rank 2), matrices (rank 3) and ends (rank 1)"))
    return n.refused();
  auto groups = dyn_cast<AffineConstantExpr>(n.sizesIn(matrices)[0]);
  AffineExpr count = n.sizesIn(x)[0], columns = n.sizesIn(matrices)[2];
  if (!n.demand(groups && groups.getValue() > 1, "fewer than two groups, or a number of them that is symbolic") ||
      !n.demand(count != n.constantSize(0) && n.sizesIn(ends)[0] == groups, "no rows, or not one end per group"))
    return n.refused();
  int64_t size = unknown;
  if (auto rows = dyn_cast<AffineConstantExpr>(count))
    for (size = 1; size * 2 <= std::min(most, rows.getValue() / groups.getValue() / 2);)
      size *= 2;
  Value zero = n.scalarInt(0, n.i64()), rowsOf = n.scalarInt(size, n.i64());
  Value zeros = n.broadcast(zero, {n.constantSize(1)});
  Value starts = n.concat({zeros, n.sliceDim(ends, 0, n.constantSize(0), canonicalSize(groups - 1))}, 0);
  Value lengths = n.op<AddOp>({n.op<SubOp>({ends, starts}), n.scalarInt(size - 1, n.i64())});
  lengths = quotient(n, lengths, size);
  Value blockEnds = ScanOp::create(n.builder, n.loc, lengths.getType(), lengths, ScanKind::Sum, 0);
  Value blockStarts = n.op<SubOp>({blockEnds, lengths});
  // Upper bound of the number of blocks for any sizes of the groups. Blocks that no group needs are multiplied by the
  // last group's matrix, and their results are not used.
  AffineExpr blocks = size > 1 ? canonicalSize(count.floorDiv(size) + groups) : count;
  Value block = n.iota({blocks}, 0, n.i64()), row = n.iota({count}, 0, n.i64());
  Value group = groupOf(n, blockEnds, groups, block);
  Value first = n.op<SubOp>({block, at(n, blockStarts, group)});
  first = n.op<AddOp>({at(n, starts, group), n.op<MulOp>({first, rowsOf})});
  Value rows = n.op<AddOp>({n.unsqueeze(first, 1), n.iota({n.constantSize(size)}, 0, n.i64())});
  rows = n.op<MaximumOp>({n.op<MinimumOp>({rows, n.indexScalar(canonicalSize(count - 1), n.i64())}), zero});
  Value made = n.matmul(at(n, x, rows), at(n, matrices, group));

  Value groupOfRow = groupOf(n, ends, groups, row);
  Value rowInGroup = n.op<SubOp>({row, at(n, starts, groupOfRow)});
  Value position = n.op<AddOp>({n.op<MulOp>({at(n, blockStarts, groupOfRow), rowsOf}), rowInGroup});
  Value last = n.reshape(n.sliceDim(ends, 0, canonicalSize(groups - 1), n.constantSize(1)), ArrayRef<AffineExpr>());
  Value inGroup = n.compare<LtOp>(row, last);
  Value found = at(n, n.reshape(made, {canonicalSize(blocks * size), columns}), n.where(inGroup, position, zero));
  return n.where(n.unsqueeze(inGroup, 1), found, n.scalar(0, n.element()));
}

} // namespace

void registerExperts(Table &t) {
  t["aten._grouped_mm.default"] = t["transformers.grouped_mm_fallback.default"] = groupedProduct;
}

} // namespace tilewright
