//===- GraphVerify.h - shared functions of the tw verifiers ---------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_GRAPHVERIFY_H
#define TILEWRIGHT_DIALECTS_GRAPH_GRAPHVERIFY_H

#include "dialects/Graph/Values.h"

namespace tilewright::graph {

using Sizes = llvm::SmallVector<mlir::AffineExpr>;

/// Returns the value of a constant size, or nullopt.
std::optional<int64_t> constantOf(mlir::AffineExpr expr);
/// Returns true if the sizes `a` and `b`, which must be equal, differ by a nonzero constant. If their difference
/// depends on symbols, adds a rule of the verified op (SizeRules.h).
bool surelyDiffer(mlir::AffineExpr a, mlir::AffineExpr b);
/// Returns true if the size `a`, which must be at least `b`, is less than `b` by a constant. If their difference
/// depends on symbols, adds a rule of the verified op.
bool surelyBelow(mlir::AffineExpr a, mlir::AffineExpr b);
/// Returns the text of a shape, such as "2x(s0)x64".
std::string printSizes(llvm::ArrayRef<mlir::AffineExpr> sizes);
std::string printSize(mlir::AffineExpr size);

/// Reports that `op` violates constraint `number`: "matmul_c3: ...".
mlir::InFlightDiagnostic broken(mlir::Operation *op, unsigned number);
mlir::InFlightDiagnostic broken(mlir::Operation *op, llvm::StringRef label, unsigned number);

/// Checks 0 <= dim < rank; otherwise reports constraint `number`.
mlir::LogicalResult checkDim(mlir::Operation *op, unsigned number, int64_t dim, int64_t rank);
/// Checks that all dimensions are in range and distinct; otherwise reports constraint `number`.
mlir::LogicalResult checkDims(mlir::Operation *op, unsigned number, llvm::ArrayRef<int64_t> dims, int64_t rank);
/// Checks that the sizes of `value` are `expected`; otherwise reports constraint `number`.
mlir::LogicalResult checkSizes(mlir::Operation *op, unsigned number, llvm::StringRef what, mlir::Value value,
                               llvm::ArrayRef<mlir::AffineExpr> expected);
/// Checks that the elements of `value` are of type `expected`; otherwise reports constraint `number`.
mlir::LogicalResult checkElement(mlir::Operation *op, unsigned number, llvm::StringRef what, mlir::Value value,
                                 mlir::Type expected);
/// Checks that the elements of all `values` are floats; otherwise reports constraint `number`.
mlir::LogicalResult checkFloats(mlir::Operation *op, unsigned number, mlir::ValueRange values);
/// Checks the element types of `operands`, whose first is the input, and of `results`: all are floats, either all
/// operands or no operands are f64, and results are f64 only if the input is. Otherwise reports constraint `number`.
/// The op computes in f64 for an f64 input, and in f32 for other inputs.
mlir::LogicalResult checkComputeTypes(mlir::Operation *op, unsigned number, mlir::ValueRange operands,
                                      mlir::ValueRange results);
/// Returns false if `from` surely does not broadcast to `to` by NumPy's rules. A size of `from` that is not 1 must
/// equal the size of `to`. If their equality depends on symbols, adds a rule of the verified op.
bool broadcasts(llvm::ArrayRef<mlir::AffineExpr> from, llvm::ArrayRef<mlir::AffineExpr> to);

} // namespace tilewright::graph

#endif
