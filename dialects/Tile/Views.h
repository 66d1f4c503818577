//===- Views.h - ops that give the same memory another type --------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_VIEWS_H
#define TILEWRIGHT_DIALECTS_TILE_VIEWS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <optional>

namespace tilewright::tile {

/// Behind the op lie the elements of its operand, all of them, where they were. What a call makes for its caller may be
/// returned through any number of these, so that all who ask have one answer.
inline bool isViewOfAll(mlir::Operation *op) {
  return mlir::isa<mlir::tensor::ExpandShapeOp, mlir::tensor::CollapseShapeOp, mlir::tensor::CastOp>(op);
}

/// Of a slice whose elements lie one after the other in its source, how many elements of the source come before them;
/// nothing for slices with gaps or sizes that are not known.
inline std::optional<int64_t> denseSliceOffset(mlir::tensor::ExtractSliceOp slice) {
  mlir::ArrayRef<int64_t> source = slice.getSourceType().getShape();
  if (!slice.getSourceType().hasStaticShape() || !slice.getType().hasStaticShape() ||
      mlir::ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
      llvm::any_of(slice.getStaticStrides(), [](int64_t stride) { return stride != 1; }))
    return std::nullopt;
  int64_t offset = 0, elements = 1;
  bool whole = true; // dimensions behind this one are
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
