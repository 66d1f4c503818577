//===- Sizes.h - sizes as expressions over a function's index arguments -------===//
//
// After the graph stage nobody asks a tensor for its size (tensor.dim): sizes are values. Each tensor argument of
// @main and of a kernel carries `tw.sizes`, an affine map from the function's index arguments (symbol k is the k-th
// argument of type index) to the argument's sizes; the size of anything else follows from how it was made.
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

/// The index `value` over the index arguments of its function, or null when it depends on something else.
mlir::AffineExpr exprOf(mlir::Value value);
/// The same for an attribute or a value.
mlir::AffineExpr exprOf(mlir::OpFoldResult value, mlir::MLIRContext *context);

/// Size `dim` of the tensor or memref `value`, or null when it cannot be told.
mlir::AffineExpr sizeOf(mlir::Value value, int64_t dim);

/// All sizes of `value`; empty when one cannot be told (and the rank is not 0).
llvm::SmallVector<mlir::AffineExpr> sizesOf(mlir::Value value);

/// The index arguments of `function`, in order.
llvm::SmallVector<mlir::Value> indexArguments(mlir::FunctionOpInterface function);

/// `expr` over `symbols` as a value or constant at the builder's position.
mlir::OpFoldResult materialize(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineExpr expr,
                               mlir::ValueRange symbols);

} // namespace tilewright::tile

#endif
