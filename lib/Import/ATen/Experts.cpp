//===- Experts.cpp - grouped matrix products ---------------------------------------------===//
//
//   _grouped_mm(x [rows, I], matrices [groups, I, O], ends [groups])
//
// multiplies the rows before ends[0] by matrices[0], the rows from there to ends[1] by matrices[1], and so on (mixtures
// of experts). Rows are gathered into blocks, so that all rows of a block are in one group, and each block is
// multiplied by its group's matrix (decision 0020). The target cpu does not copy the matrices if they are a parameter.
//
// Test: test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// The maximum number of rows of a block of a product. In gradients, the number of rows of a block if the number of all
/// rows is symbolic.
constexpr int64_t most = 64;
constexpr int64_t unknown = 16; ///< number of rows of a block of a product if the number of all rows is symbolic

/// Takes the entries of `x` along its first dimension at `indices`, which may have any rank.
Value at(Node &n, Value x, Value indices) { return take(n, x, {indices}, 0); }

/// Divides non-negative integers by `by`, which is a power of 2.
Value quotient(Node &n, Value x, int64_t by) {
  return by == 1 ? x : n.op<ShiftRightOp>({x, n.scalarInt(llvm::Log2_64(by), n.i64())});
}

/// Returns the group that contains each of the row or block numbers `numbers`. `ends` has the end of each group.
Value groupOf(Node &n, Value ends, int64_t groups, Value numbers) {
  if (groups == 1)
    return n.broadcast(n.scalarInt(0, n.i64()), n.sizesIn(numbers));
  Value first = n.sliceDim(ends, 0, n.constantSize(0), n.constantSize(groups - 1));
  Value reached = n.cast(n.compare<LeOp>(n.unsqueeze(first, 0), n.unsqueeze(numbers, 1)), n.i64());
  return n.reduce(ReduceKind::Sum, reached, {1}, false);
}

/// The operands (rows [count, I], matrices [groups, I, O], ends [groups]) of a grouped product.
struct Groups {
  Value rows, matrices, ends;
  AffineExpr count;
  int64_t groups = 1;
};

/// Reads the arguments (self, mat2, offs), and refuses the node if they do not fit each other.
Groups readGroups(Node &n) {
  Groups g{n.tensor(0, "self"), n.tensor(1, "mat2"), {}, {}};
  if (!n.demand(n.has(2, "offs"), "groups whose ends are not given"))
    return g;
  g.ends = n.cast(n.tensor(2, "offs"), n.i64());
  if (!n.demand(n.rankOf(g.rows) == 2 && n.rankOf(g.matrices) == 3 && n.rankOf(g.ends) == 1,
                "its operands are not rows (rank 2), matrices (rank 3) and ends (rank 1)"))
    return g;
  SmallVector<AffineExpr> sizes = n.sizesIn(g.matrices);
  auto groups = dyn_cast<AffineConstantExpr>(sizes[0]);
  g.count = n.sizesIn(g.rows)[0];
  if (!n.demand(groups && groups.getValue() > 0, "no groups, or a number of them that is symbolic") ||
      !n.demand(n.sizesIn(g.ends)[0] == groups, "not one end per group") ||
      !n.demand(n.sizesIn(g.rows)[1] == sizes[1] && n.elementOf(g.rows) == n.elementOf(g.matrices),
                "the rows do not fit the matrices") ||
      !n.demand(g.count != n.constantSize(0) && !llvm::is_contained(sizes, n.constantSize(0)), "empty operands"))
    return g;
  g.groups = groups.getValue();
  return g;
}

/// An assignment of rows to blocks.
struct Blocks {
  AffineExpr count; ///< number of blocks
  int64_t size = 1; ///< rows of a block
  Value group;      ///< [blocks]: the group of each block
  Value rows;       ///< [blocks, size]: the rows of each block
  Value inside;     ///< [blocks, size]: true if the position has a row of the block's group
  Value position;   ///< [rows]: the position of each row among the positions of all blocks
  Value inGroup;    ///< [rows]: false for rows after the last group
};

/// Assigns the rows of `g` to blocks of `size` rows, which is a power of 2.
Blocks blocksOf(Node &n, const Groups &g, int64_t size) {
  Blocks b;
  b.size = size;
  Value zero = n.scalarInt(0, n.i64()), rowsOf = n.scalarInt(size, n.i64());
  Value starts = n.broadcast(zero, {n.constantSize(1)});
  if (g.groups > 1)
    starts = n.concat({starts, n.sliceDim(g.ends, 0, n.constantSize(0), n.constantSize(g.groups - 1))}, 0);
  Value lengths = n.op<AddOp>({n.op<SubOp>({g.ends, starts}), n.scalarInt(size - 1, n.i64())});
  lengths = quotient(n, lengths, size);
  Value blockEnds = n.scan(ScanKind::Sum, lengths, 0);
  Value blockStarts = n.op<SubOp>({blockEnds, lengths});
  // b.count is an upper bound of the number of blocks for any sizes of the groups. Blocks that no group needs are
  // assigned to the last group, and none of their positions is inside of the group.
  b.count = size > 1 ? canonicalSize(g.count.floorDiv(size) + g.groups) : g.count;
  Value block = n.iota({b.count}, 0, n.i64()), row = n.iota({g.count}, 0, n.i64());
  b.group = groupOf(n, blockEnds, g.groups, block);
  Value first = n.op<SubOp>({block, at(n, blockStarts, b.group)});
  first = n.op<AddOp>({at(n, starts, b.group), n.op<MulOp>({first, rowsOf})});
  Value rows = n.op<AddOp>({n.unsqueeze(first, 1), n.iota({n.constantSize(size)}, 0, n.i64())});
  b.inside = n.compare<LtOp>(rows, n.unsqueeze(at(n, g.ends, b.group), 1));
  b.rows = n.op<MaximumOp>({n.op<MinimumOp>({rows, n.indexScalar(canonicalSize(g.count - 1), n.i64())}), zero});
  Value groupOfRow = groupOf(n, g.ends, g.groups, row);
  Value rowInGroup = n.op<SubOp>({row, at(n, starts, groupOfRow)});
  b.position = n.op<AddOp>({n.op<MulOp>({at(n, blockStarts, groupOfRow), rowsOf}), rowInGroup});
  Value last =
      n.reshape(n.sliceDim(g.ends, 0, n.constantSize(g.groups - 1), n.constantSize(1)), ArrayRef<AffineExpr>());
  b.inGroup = n.compare<LtOp>(row, last);
  return b;
}

/// Returns the product of each row with the matrix of its group, and 0 for rows after the last group. If the number of
/// rows is known, a block has at most 64 rows and at most half of the mean number of rows of a group, but at least one
/// row. Otherwise a block has `unknown` rows.
Value product(Node &n, const Groups &g) {
  int64_t size = unknown;
  if (auto rows = dyn_cast<AffineConstantExpr>(g.count))
    for (size = 1; size * 2 <= std::min(most, rows.getValue() / g.groups / 2);)
      size *= 2;
  Blocks b = blocksOf(n, g, size);
  Value made = n.matmul(at(n, g.rows, b.rows), at(n, g.matrices, b.group));
  Value zero = n.scalarInt(0, n.i64());
  AffineExpr columns = n.sizesIn(g.matrices)[2];
  Value found = at(n, n.reshape(made, {canonicalSize(b.count * size), columns}), n.where(b.inGroup, b.position, zero));
  return n.where(n.unsqueeze(b.inGroup, 1), found, n.scalar(0, n.elementOf(found)));
}

/// Imports _grouped_mm(self, mat2, offs, bias, out_dtype), and the custom operator of the library transformers, which
/// has only the first three arguments.
Results groupedProduct(Node &n) {
  Groups g = readGroups(n);
  if (!n.demand(!n.has(3, "bias"), "a bias is not supported; add it to the result") ||
      !n.demand(n.element() == n.elementOf(g.rows), "out_dtype differs from the dtype of the operands"))
    return n.refused();
  return product(n, g);
}

/// Imports the gradient operator (x, matrices, ends, grad) of the library transformers. The gradient of the rows is a
/// grouped product with the transposed matrices. The gradient of a matrix is the sum of the products of its blocks. If
/// the number of rows is known, blocks are so large that there are at most twice as many blocks as groups. Otherwise a
/// block has 64 rows.
Results groupedProductGradient(Node &n) {
  Groups g = readGroups(n);
  Value grad = n.tensor(3, "grad");
  if (!n.demand(n.rankOf(grad) == 2 && n.elementOf(grad) == n.elementOf(g.rows), "the gradient has no rows"))
    return n.refused();
  int64_t size = most;
  if (auto rows = dyn_cast<AffineConstantExpr>(g.count))
    for (size = 1; size * g.groups < rows.getValue();)
      size *= 2;
  Blocks b = blocksOf(n, g, size);
  Value part = n.where(n.unsqueeze(b.inside, 2), at(n, g.rows, b.rows), n.scalar(0, n.elementOf(g.rows)));
  Value sums = n.matmul(n.transpose(part, 1, 2), at(n, grad, b.rows));
  Value zeros = n.broadcast(n.scalar(0, n.elementOf(g.matrices)), n.sizesIn(g.matrices));
  Value ofMatrices =
      PutOp::create(n.builder, n.loc, g.matrices.getType(), zeros, sums, ValueRange{b.group}, 0, ScatterKind::Add);
  Groups transposed = g;
  transposed.rows = grad, transposed.matrices = n.transpose(g.matrices, 1, 2);
  return {product(n, transposed), ofMatrices};
}

} // namespace

void registerExperts(Table &t) {
  t["aten._grouped_mm.default"] = t["transformers.grouped_mm_fallback.default"] = groupedProduct;
  t["transformers.grouped_mm_fallback_backward.default"] = groupedProductGradient;
}

} // namespace tilewright
