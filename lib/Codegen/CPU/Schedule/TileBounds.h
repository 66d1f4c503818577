//===- TileBounds.h - the size of a task's part of a dimension -------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_TILEBOUNDS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_TILEBOUNDS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace tilewright::tiled {

/// Returns the size of the tile that begins at `start`: the smaller of `tile` and the number of remaining elements. The
/// dimension has `size` elements. `known` is this size as a value or a constant.
mlir::OpFoldResult sizeOfTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value start, int64_t tile,
                              mlir::AffineExpr size, mlir::OpFoldResult known);

} // namespace tilewright::tiled

#endif
