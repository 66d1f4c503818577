//===- CholeskyFactors.cpp - Cholesky factors of small matrices --------------------------===//
//
// linalg_cholesky_ex computes L with a = L L^T column by column. Column k of L is the first column of the remaining
// matrix, divided by the square root of its first element (the pivot). The product of this column of L with its
// transpose is then subtracted:
//
//   (p  c^T)     L[:, 0] = (p, c) / sqrt(p)      the remaining matrix is b - c c^T / p
//   (c   b )
//
// Source: Golub and Van Loan, "Matrix Computations", 4.2 (outer product Cholesky).
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Matrices.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Imports linalg_cholesky_ex(self, *, upper, check_errors). Reads only the lower triangle, or with `upper` the upper
/// one. The result `info` is the order of the first leading minor that is not positive, or 0.
Results choleskyFactor(Node &n) {
  Value a = readSquareMatrices(n, 0, "self");
  const bool upper = n.flag(1, "upper");
  if (!n.demand(!n.flag(2, "check_errors"), "check_errors=True is not supported, because it reads `info` during the "
                                            "call; check the result `info` instead"))
    return n.refused();
  if (upper)
    a = transposedMatrices(n, a);
  const int64_t size = columnsOf(a);
  Type element = n.elementOf(a), index = n.i64(), i32 = n.builder.getI32Type();
  Value zero = n.scalar(0, element), column = n.iota({n.constantSize(size)}, 0, index), row = n.unsqueeze(column, 1);
  Value factor = n.full(zero, n.typeOf(a)), info = n.broadcast(n.scalarInt(0, i32), batchOf(a));
  for (int64_t k = 0; k < size; ++k) {
    Value number = n.scalarInt(k, index), pivot = blockOf(n, a, k, 1, k, 1);
    Value positive = n.reshape(n.compare<GtOp>(pivot, zero), batchOf(a)); // false for NaN
    Value first = n.compare<EqOp>(info, n.scalarInt(0, i32));
    first = n.op<LogicalAndOp>({first, n.op<LogicalNotOp>({positive}, n.i1())}, n.i1());
    info = n.where(first, n.scalarInt(k + 1, i32), info);
    Value below = n.where(n.compare<GeOp>(row, number), blockOf(n, a, 0, size, k, 1), zero);
    below = n.op<DivOp>({below, n.op<SqrtOp>({pivot})});
    factor = n.where(n.compare<EqOp>(column, number), below, factor);
    a = n.op<SubOp>({a, n.op<MulOp>({below, transposedMatrices(n, below)})});
  }
  return {upper ? transposedMatrices(n, factor) : factor, info};
}

} // namespace

void registerCholeskyFactors(Table &t) { t["aten.linalg_cholesky_ex.default"] = choleskyFactor; }

} // namespace tilewright
