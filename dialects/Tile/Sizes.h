//===- Sizes.h - sizes as expressions over a function's index arguments -------===//
//
// After the graph stage, tensor types have no size expressions as encodings. Instead, each tensor argument of @main and
// of a kernel has the attribute `tw.sizes`, an affine map from the function's index arguments (symbol k is the k-th
// argument of type index) to the argument's sizes. The sizes of other values follow from their producers.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_SIZES_H
#define TILEWRIGHT_DIALECTS_TILE_SIZES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tilewright::tile {

/// Argument attribute: AffineMapAttr from the function's index arguments to the argument's sizes.
inline constexpr llvm::StringLiteral sizesAttrName = "tw.sizes";

/// Returns the index `value` as an expression of its function's index arguments. Returns null if it depends on other
/// values, or on ops other than constants, affine.apply, arith.addi, arith.subi, arith.muli and ops that return a size.
mlir::AffineExpr exprOf(mlir::Value value);
/// Returns the same expression for an index that is an attribute or a value.
mlir::AffineExpr exprOf(mlir::OpFoldResult value, mlir::MLIRContext *context);

/// Returns size `dim` of the tensor or memref `value`, or null if it is unknown.
mlir::AffineExpr sizeOf(mlir::Value value, int64_t dim);

/// Returns all sizes of `value`, or an empty list if one is unknown (or the rank is 0).
llvm::SmallVector<mlir::AffineExpr> sizesOf(mlir::Value value);

/// Returns the index arguments of `function`, in order.
llvm::SmallVector<mlir::Value> indexArguments(mlir::FunctionOpInterface function);

/// Materializes `expr` over `symbols` as a value or constant at the builder's insertion point.
mlir::OpFoldResult materialize(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineExpr expr,
                               mlir::ValueRange symbols);

} // namespace tilewright::tile

#endif
