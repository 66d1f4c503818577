//===- Views.h - ops that change only the type of a buffer ---------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_VIEWS_H
#define TILEWRIGHT_DIALECTS_TILE_VIEWS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <optional>

namespace tilewright::tile {

/// Returns true if the op's result has all the elements of its operand at the same addresses. The result of a call may
/// be returned through any number of such ops, so all passes that follow returned values use this function.
inline bool isViewOfAll(mlir::Operation *op) {
  return mlir::isa<mlir::tensor::ExpandShapeOp, mlir::tensor::CollapseShapeOp, mlir::tensor::CastOp>(op);
}

/// Returns the value of which `value` is a view, through any number of such ops and of slices. Returns `value` itself
/// if it is not a view.
inline mlir::Value viewedValue(mlir::Value value) {
  for (mlir::Operation *op = value.getDefiningOp();
       op && (isViewOfAll(op) || mlir::isa<mlir::tensor::ExtractSliceOp>(op)); op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

/// Returns the number of elements of the source that precede the slice, if the slice is contiguous in its source.
/// Returns nullopt if the slice has gaps, or if an offset or a size is unknown.
inline std::optional<int64_t> denseSliceOffset(mlir::tensor::ExtractSliceOp slice) {
  mlir::ArrayRef<int64_t> source = slice.getSourceType().getShape();
  if (!slice.getSourceType().hasStaticShape() || !slice.getType().hasStaticShape() ||
      mlir::ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
      llvm::any_of(slice.getStaticStrides(), [](int64_t stride) { return stride != 1; }))
    return std::nullopt;
  int64_t offset = 0, elements = 1;
  bool whole = true; // true if the slice contains all elements of the inner dimensions
  for (size_t dim = source.size(); dim-- > 0;) {
    const int64_t size = slice.getStaticSizes()[dim];
    if (!whole && size != 1)
      return std::nullopt;
    whole &= size == source[dim];
    offset += slice.getStaticOffsets()[dim] * elements;
    elements *= source[dim];
  }
  return offset;
}

} // namespace tilewright::tile

#endif
