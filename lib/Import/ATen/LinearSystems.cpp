//===- LinearSystems.cpp - systems of equations, inverses and determinants -------------===//
//
// These operators of small matrices use the LU factors: P L U = a.
//
//   a x = b      the rows of b are permuted, then L y = P^T b and U x = y are solved
//   a^T x = b    U^T y = b and L^T z = y are solved, then the rows of z are permuted: x = P z
//   det(a)       the product of the diagonal of U, negated for an odd number of exchanges of rows
//
// det and slogdet also return the factors, which the gradient uses. Eager factorizes the transpose of a row-major
// matrix, because LAPACK reads the memory of a matrix in column-major order, and the gradient reads the factors
// accordingly. The callers of the importer therefore pass the strides of the matrices as the additional argument
// `memory` (python/tilewright/fx/strided.py and ExportedModel).
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Matrices.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Solves P L U x = b, or with `transposed` the equation of the transposed matrix.
Value solveByLu(Node &n, Value factors, Value pivots, Value b, bool transposed) {
  SmallVector<AffineExpr> batch = commonBatch(n, factors, b);
  if (n.failed())
    return b;
  b = withBatch(n, b, batch);
  if (n.isEmpty(b))
    return b;
  const int64_t dim = n.rankOf(b) - 2;
  Value order = n.unsqueeze(rowsByPivots(n, pivots, rowsOf(factors)), n.rankOf(pivots));
  order = n.broadcast(withBatch(n, order, batch), n.sizesIn(b));
  if (!transposed) {
    Value y = solveTriangular(n, factors, gatherAlong(n, b, order, dim), /*upper=*/false, /*unit=*/true);
    return solveTriangular(n, factors, y, /*upper=*/true);
  }
  Value upper = transposedMatrices(n, factors);
  Value z = solveTriangular(n, upper, solveTriangular(n, upper, b, /*upper=*/false), /*upper=*/true, /*unit=*/true);
  return scatterAlong(n, z, order, z, dim, ScatterKind::Set);
}

/// Imports linalg_lu_solve(LU, pivots, B, *, left, adjoint).
Results luSolve(Node &n) {
  Value factors = readSquareMatrices(n, 0, "LU");
  const bool left = n.flag(3, "left", true), adjoint = n.flag(4, "adjoint");
  Value b = rightSideOf(n, factors, n.tensor(2, "B"), left);
  if (n.failed())
    return n.refused();
  Value pivots = readPivots(n, 1, "pivots", factors);
  if (n.failed())
    return n.refused();
  Value x = solveByLu(n, factors, pivots, b, adjoint == left);
  return left ? x : transposedMatrices(n, x);
}

/// Imports linalg_inv_ex(A, *, check_errors).
Results inverse(Node &n) {
  Value a = readSquareMatrices(n, 0, "A");
  if (!n.demand(!n.flag(1, "check_errors"), "check_errors=True is not supported, because it reads `info` during the "
                                            "call; check the result `info` instead"))
    return n.refused();
  LuFactors lu = luFactorsOf(n, a);
  return {solveByLu(n, lu.factors, lu.pivots, identityLike(n, a), false), lu.info};
}

/// Imports _linalg_solve_ex(A, B, *, left, check_errors). If `B` has vectors, the result has one dimension fewer than
/// `A`.
Results solveSystem(Node &n) {
  Value a = readSquareMatrices(n, 0, "A"), b = n.tensor(1, "B");
  const bool left = n.flag(2, "left", true), hasVectors = n.type() && n.type().getRank() < n.rankOf(a);
  if (!n.demand(!n.flag(3, "check_errors"), "check_errors=True is not supported, because it reads `info` during the "
                                            "call; check the result `info` instead") ||
      !n.demand(left || !hasVectors, "vectors from the left are not supported"))
    return n.refused();
  b = rightSideOf(n, a, hasVectors ? n.unsqueeze(b, n.rankOf(b)) : b, left);
  if (n.failed())
    return n.refused();
  LuFactors lu = luFactorsOf(n, a);
  Value x = solveByLu(n, lu.factors, lu.pivots, b, !left);
  if (!left)
    x = transposedMatrices(n, x);
  if (hasVectors)
    x = n.reshape(x, ArrayRef(n.sizesIn(x)).drop_back());
  return {x, lu.factors, lu.pivots, lu.info};
}

/// Returns true if `matrices`, the node's first argument, is contiguous. Refuses the node if its strides are unknown,
/// or if the answer depends on symbolic sizes.
bool isRowMajor(Node &n, Value matrices) {
  SmallVector<AffineExpr> sizes = n.sizesIn(matrices), strides = n.sizes(~0u, "memory");
  if (!n.demand(strides.size() == sizes.size(), "the strides of its matrices are not known") || n.isEmpty(matrices))
    return true;
  AffineExpr dense = n.constantSize(1);
  for (size_t dim = sizes.size(); dim-- > 0; dense = canonicalSize(dense * sizes[dim])) {
    if (sizes[dim] == n.constantSize(1))
      continue;
    auto [low, high] = rangeOf(canonicalSize(strides[dim] - dense), n.importer.symbols);
    if (low > 0 || high < 0)
      return false;
    n.demand(low == 0 && high == 0, "the memory order of its matrices depends on symbolic sizes");
  }
  return true;
}

/// The factors of a square matrix, and the values from which its determinant is computed.
struct Determinant {
  LuFactors lu;
  Value diagonal; ///< [.., n]: the diagonal of U
  Value sign;     ///< [..]: 1 for an even number of exchanges of rows, otherwise -1
};

/// Reads the argument (A), and factorizes it, or its transpose if it is row-major. Returns std::nullopt after a
/// refusal.
std::optional<Determinant> readDeterminant(Node &n) {
  Value a = readSquareMatrices(n, 0, "A");
  if (n.failed())
    return std::nullopt;
  const bool isTransposed = isRowMajor(n, a);
  if (n.failed())
    return std::nullopt;
  Determinant d;
  d.lu = luFactorsOf(n, isTransposed ? transposedMatrices(n, a) : a);
  const int64_t last = n.rankOf(a) - 2;
  Type element = n.elementOf(a), i32 = n.elementOf(d.lu.pivots);
  AffineExpr size = n.constantSize(rowsOf(a));
  Value number = n.iota({size}, 0, n.i64());
  d.diagonal = take(n, d.lu.factors, {number, number}, last, /*wraps=*/false);
  Value own = n.op<AddOp>({n.iota({size}, 0, i32), n.scalarInt(1, i32)});
  Value count = n.reduce(ReduceKind::Sum, n.cast(n.compare<NeOp>(d.lu.pivots, own), n.i64()), {last}, false);
  Value isOdd = n.op<BitwiseAndOp>({count, n.scalarInt(1, n.i64())});
  isOdd = n.compare<NeOp>(isOdd, n.scalarInt(0, n.i64()));
  d.sign = n.where(isOdd, n.scalar(-1, element), n.scalar(1, element));
  return d;
}

/// Imports _linalg_det(A).
Results determinant(Node &n) {
  std::optional<Determinant> d = readDeterminant(n);
  if (!d)
    return n.refused();
  Value product = n.reduce(ReduceKind::Prod, d->diagonal, {n.rankOf(d->sign)}, false);
  return {n.op<MulOp>({product, d->sign}), d->lu.factors, d->lu.pivots};
}

/// Imports _linalg_slogdet(A).
Results logarithmOfDeterminant(Node &n) {
  std::optional<Determinant> d = readDeterminant(n);
  if (!d)
    return n.refused();
  const int64_t last = n.rankOf(d->sign);
  Value sign = n.reduce(ReduceKind::Prod, n.op<SignOp>({d->diagonal}), {last}, false);
  Value logarithm = n.reduce(ReduceKind::Sum, n.op<LogOp>({n.op<AbsOp>({d->diagonal})}), {last}, false);
  return {n.op<MulOp>({sign, d->sign}), logarithm, d->lu.factors, d->lu.pivots};
}

} // namespace

void registerLinearSystems(Table &t) {
  t["aten.linalg_lu_solve.default"] = luSolve;
  t["aten.linalg_inv_ex.default"] = inverse;
  t["aten._linalg_solve_ex.default"] = solveSystem;
  t["aten._linalg_det.default"] = determinant;
  t["aten._linalg_slogdet.default"] = logarithmOfDeterminant;
}

} // namespace tilewright
