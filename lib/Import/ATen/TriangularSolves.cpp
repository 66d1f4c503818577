//===- TriangularSolves.cpp - systems of equations with triangular matrices --------------===//
//
// A small system is solved by substitution: each row of the solution is computed, and then eliminated from the
// remaining equations. A larger system is divided into blocks of rows. The diagonal blocks of the matrix are inverted
// by substitution, all at once, so that the remaining steps are products of blocks.
//
//   (a00     ) (x0)   (b0)      x0 = inverse(a00) b0
//   (a10  a11) (x1) = (b1)      x1 = inverse(a11) (b1 - a10 x0)
//
// cholesky_solve and cholesky_inverse solve two triangular systems.
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Matrices.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Solves a x = b by substitution. The batch of `b` is that of the solution.
Value substitute(Node &n, Value a, Value b, bool upper, bool unit) {
  const int64_t size = columnsOf(a), dim = n.rankOf(b) - 2;
  SmallVector<Value> found(size);
  for (int64_t step = 0; step < size; ++step) {
    const int64_t i = upper ? size - 1 - step : step;
    Value row = n.sliceDim(b, dim, n.constantSize(i), n.constantSize(1));
    found[i] = unit ? row : n.op<DivOp>({row, blockOf(n, a, i, 1, i, 1)});
    b = n.op<SubOp>({b, n.op<MulOp>({blockOf(n, a, 0, size, i, 1), found[i]})});
  }
  return n.concat(found, dim);
}

/// Multiplies matrices of the same batch. If the batch has several dimensions, they are flattened for the product.
Value productOf(Node &n, Value a, Value b) {
  SmallVector<AffineExpr> batch = batchOf(a), sizes = n.sizesIn(b);
  if (batch.size() <= 1)
    return n.matmul(a, b);
  auto flat = [&](Value value) {
    SmallVector<AffineExpr> own = n.sizesIn(value);
    return n.reshape(value, {n.product(batch), own[own.size() - 2], own.back()});
  };
  sizes[sizes.size() - 2] = n.constantSize(rowsOf(a));
  return n.reshape(n.matmul(flat(a), flat(b)), sizes);
}

/// Solves a x = b for a lower triangle `a` in blocks. The batch of `b` is that of the solution.
Value solveByBlocks(Node &n, Value a, Value b, bool unit) {
  constexpr int64_t size = largestMatrix;
  const int64_t rows = columnsOf(a), count = (rows + size - 1) / size, missing = count * size - rows;
  const int64_t rank = n.rankOf(a), dim = n.rankOf(b) - 2;
  SmallVector<AffineExpr> batch = batchOf(b);
  if (missing) { // pad the matrix with rows of the identity
    SmallVector<int64_t> none(rank, 0), after(rank, 0), noneOfB(dim + 2, 0), afterB(dim + 2, 0);
    after[rank - 2] = after[rank - 1] = afterB[dim] = missing;
    a = n.pad(a, none, after);
    b = n.pad(b, noneOfB, afterB);
    Value row = n.iota({n.constantSize(count * size), n.constantSize(1)}, 0, n.i64());
    Value column = n.iota({n.constantSize(count * size)}, 0, n.i64());
    Value added = n.compare<GeOp>(row, n.scalarInt(rows, n.i64()));
    added = n.op<LogicalAndOp>({added, n.compare<EqOp>(row, column)}, n.i1());
    a = n.where(added, n.scalar(1, n.elementOf(a)), a);
  }
  SmallVector<Value> diagonal;
  for (int64_t first = 0; first < count * size; first += size)
    diagonal.push_back(n.unsqueeze(blockOf(n, a, first, size, first, size), rank - 2));
  Value blocks = n.concat(diagonal, rank - 2); // [.., count, size, size]
  Value inverses = substitute(n, blocks, identityLike(n, blocks), /*upper=*/false, unit);
  SmallVector<AffineExpr> one = batchOf(a);
  one.append(2, n.constantSize(size));
  Value found;
  for (int64_t i = 0; i < count; ++i) {
    Value part = n.sliceDim(b, dim, n.constantSize(i * size), n.constantSize(size));
    if (found)
      part = n.op<SubOp>({part, productOf(n, withBatch(n, blockOf(n, a, i * size, size, 0, i * size), batch), found)});
    Value inverse = n.reshape(n.sliceDim(inverses, rank - 2, n.constantSize(i), n.constantSize(1)), one);
    part = productOf(n, withBatch(n, inverse, batch), part);
    found = found ? n.concat({found, part}, dim) : part;
  }
  return n.sliceDim(found, dim, n.constantSize(0), n.constantSize(rows));
}

Value flipped(Node &n, Value x, ArrayRef<int64_t> dims) {
  return FlipOp::create(n.builder, n.loc, x.getType(), x, n.builder.getDenseI64ArrayAttr(dims));
}

} // namespace

Value solveTriangular(Node &n, Value a, Value b, bool upper, bool unit) {
  SmallVector<AffineExpr> batch = commonBatch(n, a, b);
  if (n.failed())
    return b;
  b = withBatch(n, b, batch);
  if (n.isEmpty(b))
    return b;
  if (columnsOf(a) <= largestMatrix)
    return substitute(n, a, b, upper, unit);
  if (!upper)
    return solveByBlocks(n, a, b, unit);
  // If the order of the equations and of the unknowns is reversed, the matrix is a lower triangle.
  const int64_t rank = n.rankOf(a), dim = n.rankOf(b) - 2;
  return flipped(n, solveByBlocks(n, flipped(n, a, {rank - 2, rank - 1}), flipped(n, b, {dim}), unit), {dim});
}

namespace {

/// Imports linalg_solve_triangular(self, B, *, upper, left, unitriangular).
Results solveTriangle(Node &n) {
  Value a = readSquareMatrices(n, 0, "self", largestTriangle);
  const bool upper = n.flag(2, "upper"), left = n.flag(3, "left", true), unit = n.flag(4, "unitriangular");
  Value b = rightSideOf(n, a, n.tensor(1, "B"), left);
  if (n.failed())
    return n.refused();
  if (left)
    return solveTriangular(n, a, b, upper, unit);
  return transposedMatrices(n, solveTriangular(n, transposedMatrices(n, a), b, !upper, unit));
}

/// Imports triangular_solve(self, A, upper, transpose, unitriangular), which also returns `A` with the batch of the
/// solution.
Results triangularSolve(Node &n) {
  Value a = readSquareMatrices(n, 1, "A", largestTriangle);
  const bool upper = n.flag(2, "upper", true), transpose = n.flag(3, "transpose"), unit = n.flag(4, "unitriangular");
  Value b = rightSideOf(n, a, n.tensor(0, "self"));
  if (n.failed())
    return n.refused();
  Value x = solveTriangular(n, transpose ? transposedMatrices(n, a) : a, b, upper != transpose, unit);
  if (n.failed())
    return n.refused();
  return {x, withBatch(n, a, batchOf(x))};
}

/// Solves a x = b, where `factor` is the Cholesky factor L of a = L L^T, or with `upper` the factor U of a = U^T U.
Value solveByCholesky(Node &n, Value factor, Value b, bool upper) {
  Value other = transposedMatrices(n, factor), lower = upper ? other : factor;
  Value y = solveTriangular(n, lower, b, /*upper=*/false);
  return n.failed() ? y : solveTriangular(n, upper ? factor : other, y, /*upper=*/true);
}

/// Imports cholesky_solve(self, input2, upper).
Results choleskySolve(Node &n) {
  Value factor = readSquareMatrices(n, 1, "input2", largestTriangle);
  const bool upper = n.flag(2, "upper");
  Value b = rightSideOf(n, factor, n.tensor(0, "self"));
  if (n.failed())
    return n.refused();
  return solveByCholesky(n, factor, b, upper);
}

/// Imports cholesky_inverse(self, upper).
Results choleskyInverse(Node &n) {
  Value factor = readSquareMatrices(n, 0, "self");
  const bool upper = n.flag(1, "upper");
  if (n.failed())
    return n.refused();
  return solveByCholesky(n, factor, identityLike(n, factor), upper);
}

} // namespace

void registerTriangularSolves(Table &t) {
  t["aten.linalg_solve_triangular.default"] = solveTriangle;
  t["aten.triangular_solve.default"] = triangularSolve;
  t["aten.cholesky_solve.default"] = choleskySolve;
  t["aten.cholesky_inverse.default"] = choleskyInverse;
}

} // namespace tilewright
