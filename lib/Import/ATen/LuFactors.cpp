//===- LuFactors.cpp - LU factors of small matrices ----------------------------------------===//
//
// P L U = a, where P is a permutation, L a lower triangle with the diagonal 1, and U an upper triangle. Step k finds
// the element with the largest magnitude in column k, from row k on (the pivot). It exchanges the row of the pivot with
// row k, divides the elements below the pivot by it, which gives column k of L, and subtracts multiples of row k from
// the rows below. Both factors are stored in one matrix, as in LAPACK's getrf.
//
// Source: Golub and Van Loan, "Matrix Computations", 3.4 (outer product LU with partial pivoting).
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Matrices.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Returns `numbers`, [0, 1, ..], with the elements `a` and `b` exchanged.
Value exchanged(Node &n, Value numbers, Value a, Value b) {
  return n.where(n.compare<EqOp>(numbers, a), b, n.where(n.compare<EqOp>(numbers, b), a, numbers));
}

} // namespace

LuFactors luFactorsOf(Node &n, Value a, bool pivot) {
  const int64_t rows = rowsOf(a), columns = columnsOf(a), count = std::min(rows, columns), rank = n.rankOf(a);
  const SmallVector<AffineExpr> batch = batchOf(a);
  Type element = n.elementOf(a), index = n.i64(), i32 = n.builder.getI32Type();
  Value info = n.broadcast(n.scalarInt(0, i32), batch);
  SmallVector<AffineExpr> sizes(batch);
  if (n.isEmpty(a)) {
    sizes.push_back(n.constantSize(count));
    return {a, n.broadcast(n.scalarInt(0, i32), sizes), info};
  }
  sizes.push_back(n.constantSize(1));
  Value zero = n.scalar(0, element), row = n.iota({n.constantSize(rows)}, 0, index);
  Value column = n.iota({n.constantSize(columns)}, 0, index);
  SmallVector<Value> pivots;
  for (int64_t k = 0; k < count; ++k) {
    Value number = n.scalarInt(k, index), best;
    if (pivot) {
      Value candidates = blockOf(n, a, 0, rows, k, 1);
      SmallVector<AffineExpr> flat(batch);
      flat.push_back(n.constantSize(rows));
      candidates = n.op<AbsOp>({n.reshape(candidates, flat)});
      candidates = n.where(n.compare<GeOp>(row, number), candidates, n.scalar(-1, element));
      best = ArgReduceOp::create(n.builder, n.loc, tensorWithSizes(batch, index), candidates, ReduceKind::Max, rank - 2,
                                 false);
      best = n.reshape(best, sizes);
      Value order = n.unsqueeze(exchanged(n, row, number, best), rank - 1);
      a = gatherAlong(n, a, n.broadcast(order, n.sizesIn(a)), rank - 2);
    } else {
      best = n.broadcast(number, sizes);
    }
    pivots.push_back(n.op<AddOp>({best, n.scalarInt(1, index)}));
    Value top = blockOf(n, a, k, 1, k, 1), isZero = n.compare<EqOp>(top, zero);
    Value first = n.compare<EqOp>(info, n.scalarInt(0, i32));
    first = n.op<LogicalAndOp>({first, n.reshape(isZero, batch)}, n.i1());
    info = n.where(first, n.scalarInt(k + 1, i32), info);
    Value lower = n.op<DivOp>({blockOf(n, a, 0, rows, k, 1), n.where(isZero, n.scalar(1, element), top)});
    Value rest = n.op<SubOp>({a, n.op<MulOp>({lower, blockOf(n, a, k, 1, 0, columns)})});
    Value below = n.unsqueeze(n.compare<GtOp>(row, number), 1);
    Value inRest = n.op<LogicalAndOp>({below, n.compare<GtOp>(column, number)}, n.i1());
    Value inLower = n.op<LogicalAndOp>({below, n.compare<EqOp>(column, number)}, n.i1());
    a = n.where(inRest, rest, n.where(inLower, lower, a));
  }
  return {a, n.cast(n.concat(pivots, rank - 2), i32), info};
}

Value readPivots(Node &n, unsigned index, llvm::StringRef name, Value factors) {
  Value pivots = n.tensor(index, name);
  if (n.failed())
    return pivots;
  SmallVector<AffineExpr> sizes = batchOf(factors);
  sizes.push_back(n.constantSize(std::min(rowsOf(factors), columnsOf(factors))));
  if (!n.demand(n.elementOf(pivots) == n.builder.getI32Type(), "the pivots are not int32") ||
      !n.demand(n.agree(sizes, n.sizesIn(pivots)), "the pivots have another shape than those of the factors"))
    return pivots;
  return n.withSizes(pivots, sizes);
}

Value rowsByPivots(Node &n, Value pivots, int64_t rows) {
  const int64_t last = n.rankOf(pivots) - 1;
  SmallVector<AffineExpr> sizes = n.sizesIn(pivots);
  const int64_t count = n.isEmpty(pivots) ? 0 : cast<AffineConstantExpr>(sizes.back()).getValue();
  sizes.back() = n.constantSize(rows);
  Value row = n.iota({n.constantSize(rows)}, 0, n.i64()), order = n.broadcast(row, sizes);
  for (int64_t k = 0; k < count; ++k) {
    auto entry = [&](Value value) { return n.sliceDim(value, last, n.constantSize(k), n.constantSize(1)); };
    Value best = n.op<SubOp>({n.cast(entry(pivots), n.i64()), n.scalarInt(1, n.i64())});
    Value other = gatherAlong(n, order, best, last), here = entry(order);
    order =
        n.where(n.compare<EqOp>(row, n.scalarInt(k, n.i64())), other, n.where(n.compare<EqOp>(row, best), here, order));
  }
  return order;
}

namespace {

/// Returns L and U as separate matrices.
std::pair<Value, Value> separated(Node &n, Value factors) {
  const int64_t rows = rowsOf(factors), columns = columnsOf(factors), count = std::min(rows, columns);
  Value zero = n.scalar(0, n.elementOf(factors)), one = n.scalar(1, n.elementOf(factors));
  if (n.isEmpty(factors)) {
    SmallVector<AffineExpr> lower = batchOf(factors), upper = lower;
    lower.append({n.constantSize(rows), n.constantSize(count)});
    upper.append({n.constantSize(count), n.constantSize(columns)});
    return {n.broadcast(zero, lower), n.broadcast(zero, upper)};
  }
  auto along = [&](int64_t size, int64_t dim) {
    return n.alongDim(n.iota({n.constantSize(size)}, 0, n.i64()), dim, 2);
  };
  Value row = along(rows, 0), column = along(count, 1);
  Value lower = n.where(n.compare<EqOp>(row, column), one, zero);
  lower = n.where(n.compare<GtOp>(row, column), blockOf(n, factors, 0, rows, 0, count), lower);
  row = along(count, 0), column = along(columns, 1);
  return {lower, n.where(n.compare<LeOp>(row, column), blockOf(n, factors, 0, count, 0, columns), zero)};
}

/// Returns the matrix P with P L U = a.
Value permutationOf(Node &n, Value pivots, int64_t rows, Type element) {
  Value order = n.unsqueeze(rowsByPivots(n, pivots, rows), n.rankOf(pivots) - 1);
  Value row = n.iota({n.constantSize(rows), n.constantSize(1)}, 0, n.i64());
  return n.cast(n.compare<EqOp>(order, row), element);
}

/// Returns a tensor of one dimension without elements, which torch returns for results that are not wanted.
Value unwanted(Node &n, Type element) { return n.broadcast(n.scalar(0, element), {n.constantSize(0)}); }

/// Imports linalg_lu_factor_ex(A, *, pivot, check_errors).
Results luFactor(Node &n) {
  Value a = readMatrices(n, 0, "A");
  const bool pivot = n.flag(1, "pivot", true);
  if (!n.demand(!n.flag(2, "check_errors"), "check_errors=True is not supported, because it reads `info` during the "
                                            "call; check the result `info` instead"))
    return n.refused();
  LuFactors lu = luFactorsOf(n, a, pivot);
  return {lu.factors, lu.pivots, lu.info};
}

/// Imports linalg_lu(A, *, pivot), which returns P, L and U.
Results luMatrices(Node &n) {
  Value a = readMatrices(n, 0, "A");
  const bool pivot = n.flag(1, "pivot", true);
  if (n.failed())
    return n.refused();
  LuFactors lu = luFactorsOf(n, a, pivot);
  auto [lower, upper] = separated(n, lu.factors);
  Type element = n.elementOf(a);
  return {pivot ? permutationOf(n, lu.pivots, rowsOf(a), element) : unwanted(n, element), lower, upper};
}

/// Imports lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots).
Results luUnpack(Node &n) {
  Value factors = readMatrices(n, 0, "LU_data");
  const bool data = n.flag(2, "unpack_data", true), order = n.flag(3, "unpack_pivots", true);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(factors);
  Value permutation = unwanted(n, element), lower = permutation, upper = permutation;
  if (order) {
    Value pivots = readPivots(n, 1, "LU_pivots", factors);
    if (n.failed())
      return n.refused();
    permutation = permutationOf(n, pivots, rowsOf(factors), element);
  }
  if (data)
    std::tie(lower, upper) = separated(n, factors);
  return {permutation, lower, upper};
}

} // namespace

void registerLuFactors(Table &t) {
  t["aten.linalg_lu_factor_ex.default"] = luFactor;
  t["aten.linalg_lu.default"] = luMatrices;
  t["aten.lu_unpack.default"] = luUnpack;
}

} // namespace tilewright
