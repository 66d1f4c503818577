//===- Matrices.h - batches of small matrices, and their factorizations --------------------===//
//
// A tensor of matrices has the dimensions [.., rows, columns]; the dimensions before the last two are the batch. The
// functions below require known numbers of rows and columns, which readMatrices() checks.
//
// LAPACK's results are column-major. The importer's values have no layout: the strides of a graph's results are those
// of torch's fake kernels (python/tilewright/fx/outputs.py), which are column-major for these operators.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_MATRICES_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_MATRICES_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// The maximum size of a matrix that is factorized. For larger matrices LAPACK is faster, because each step of a
/// factorization is a pass over memory here.
constexpr int64_t largestMatrix = 16;
/// The maximum size of the matrix of a triangular system. Systems with more than `largestMatrix` rows are solved in
/// blocks of `largestMatrix` rows, with matrix products.
constexpr int64_t largestTriangle = 128;

//===--- reading arguments ---===//

/// Reads an argument of matrices. Refuses matrices with more than `largest` rows or columns, with an unknown number of
/// them, or with elements of another type than f32 and f64. After a refusal, the result must not be used.
Value readMatrices(Node &n, unsigned index, llvm::StringRef name, int64_t largest = largestMatrix);
/// Reads an argument of square matrices.
Value readSquareMatrices(Node &n, unsigned index, llvm::StringRef name, int64_t largest = largestMatrix);
/// Returns `b`, which must have the dtype of `a`, as the right side of a x = b. With `left` = false, the equation is
/// x a = b, and the result is the right side of its transpose. Refuses the node if the sizes differ.
Value rightSideOf(Node &n, Value a, Value b, bool left = true);

//===--- parts and batches ---===//

int64_t rowsOf(Value matrices);
int64_t columnsOf(Value matrices);
SmallVector<AffineExpr> batchOf(Value matrices);
Value transposedMatrices(Node &n, Value matrices);
/// Returns the block of `rows` rows from `row` on and `columns` columns from `column` on.
Value blockOf(Node &n, Value matrices, int64_t row, int64_t rows, int64_t column, int64_t columns);
/// Returns identity matrices with the type of `matrices`.
Value identityLike(Node &n, Value matrices);
/// Returns the batch to which those of `a` and `b` are broadcast by NumPy's rule. Refuses the node if there is none.
SmallVector<AffineExpr> commonBatch(Node &n, Value a, Value b);
/// Broadcasts the dimensions before the last two to `batch`, the result of commonBatch().
Value withBatch(Node &n, Value matrices, ArrayRef<AffineExpr> batch);

//===--- triangular systems (TriangularSolves.cpp) ---===//

/// Returns the solution x of a x = b. The solution depends only on the upper or lower triangle of `a`. With `unit`, the
/// elements of the diagonal are assumed to be 1.
Value solveTriangular(Node &n, Value a, Value b, bool upper, bool unit = false);

//===--- LU factors (LuFactors.cpp) ---===//

/// The factors of P L U = a.
struct LuFactors {
  Value factors; ///< [.., m, n]: U, and below its diagonal L, whose diagonal elements are 1
  Value pivots;  ///< [.., min(m, n)], i32: the row with which row i is exchanged in step i; rows are counted from 1
  Value info;    ///< [..], i32: the number of the first pivot that is 0, counted from 1; 0 if there is no such pivot
};

/// Factorizes `a`. Without `pivot`, no rows are exchanged.
LuFactors luFactorsOf(Node &n, Value a, bool pivot = true);
/// Reads the pivots of `factors`. Refuses the node if their type or shape is not that of the pivots of `factors`.
Value readPivots(Node &n, unsigned index, llvm::StringRef name, Value factors);
/// Returns for each row of the factors the row of the matrix that is factorized: [.., rows], i64, counted from 0.
Value rowsByPivots(Node &n, Value pivots, int64_t rows);

} // namespace tilewright

#endif
