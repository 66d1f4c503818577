//===- TileBounds.h - how large a task's part of a dimension is ------------------===//
#ifndef TILEWRIGHT_LIB_TILED_TILEBOUNDS_H
#define TILEWRIGHT_LIB_TILED_TILEBOUNDS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace tilewright::tiled {

/// The part that a task has which begins at `start`: `tile`, or what is left of the `size`, which is `known` as a
/// value.
mlir::OpFoldResult sizeOfTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value start, int64_t tile,
                              mlir::AffineExpr size, mlir::OpFoldResult known);

} // namespace tilewright::tiled

#endif
