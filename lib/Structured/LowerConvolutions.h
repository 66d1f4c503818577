//===- LowerConvolutions.h - what the lowerings of convolutions share ----------===//
#ifndef TILEWRIGHT_STRUCTURED_LOWERCONVOLUTIONS_H
#define TILEWRIGHT_STRUCTURED_LOWERCONVOLUTIONS_H

#include "lib/Structured/Lowering.h"

namespace tilewright::structured {

inline mlir::RankedTensorType convolvedType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The sizes and loops of one convolution. Shapes of both layouts are described by the position of their parts.
struct Convolution {
  Lowering &l;
  bool channelsLast;
  int64_t groups;
  unsigned spatial; // number of spatial dimensions
  llvm::ArrayRef<int64_t> stride, padding, dilation;

  unsigned channelDim() const { return channelsLast ? 1 + spatial : 1; }
  unsigned firstSpatialDim() const { return channelsLast ? 1 : 2; }
  mlir::TypedAttr zero(mlir::Type type) { return mlir::cast<mlir::TypedAttr>(l.builder.getZeroAttr(type)); }

  /// The input surrounded by zeros (or cropped, where padding is negative), or as it is.
  mlir::Value pad(mlir::Value graphValue);

  /// Splits dimension `dim` of the tensor into groups x rest.
  mlir::Value splitGroups(mlir::Value tensor, llvm::SmallVector<mlir::AffineExpr> &sizes, unsigned dim);
};

/// accumulator + in[0] * in[1], the factors widened to the accumulator's type: the body of a product.
llvm::SmallVector<mlir::Value> multiplyAdd(mlir::OpBuilder &b, mlir::Location at, mlir::ValueRange in,
                                           mlir::Value accumulator);

mlir::LogicalResult lowerWeightGradient(Lowering &l, graph::ConvolutionWeightGradOp op);

} // namespace tilewright::structured

#endif
