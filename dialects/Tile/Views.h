//===- Views.h - ops that give the same memory another type --------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_VIEWS_H
#define TILEWRIGHT_DIALECTS_TILE_VIEWS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tilewright::tile {

/// Behind the op lie the elements of its operand, all of them, where they were. What a call makes for its caller may be
/// returned through any number of these, so that all who ask have one answer.
inline bool isViewOfAll(mlir::Operation *op) {
  return mlir::isa<mlir::tensor::ExpandShapeOp, mlir::tensor::CollapseShapeOp, mlir::tensor::CastOp>(op);
}

} // namespace tilewright::tile

#endif
