//===- TileBounds.h - the size of a task's part of a dimension -------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_TILEBOUNDS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_TILEBOUNDS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace tilewright::tiled {

/// Returns the size of the tile that begins at `start` in a dimension of `size` elements, of which `known` is the
/// constant value: `tile`, or the rest of the dimension.
mlir::OpFoldResult sizeOfTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value start, int64_t tile,
                              mlir::AffineExpr size, mlir::OpFoldResult known);

} // namespace tilewright::tiled

#endif
