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

  /// Of tw.convolution or tw.convolution_weight_grad.
  template <typename Op> static Convolution of(Lowering &l, Op op) {
    return {l,
            op->hasAttr(graph::channelsLastAttrName),
            static_cast<int64_t>(op.getGroups()),
            static_cast<unsigned>(convolvedType(op.getResult()).getRank() - 2),
            op.getStride(),
            op.getPadding(),
            op.getDilation()};
  }

  unsigned channelDim() const { return channelsLast ? 1 + spatial : 1; }
  unsigned firstSpatialDim() const { return channelsLast ? 1 : 2; }
  mlir::TypedAttr zero(mlir::Type type) { return mlir::cast<mlir::TypedAttr>(l.builder.getZeroAttr(type)); }

  /// The input surrounded by zeros (or cropped, where padding is negative), or as it is.
  mlir::Value pad(mlir::Value graphValue);

  /// A plane in channels-last, one group: what linalg.conv_2d_nhwc_hwcf says.
  bool inPlane() const { return channelsLast && groups == 1 && spatial == 2; }
  mlir::Value planeConvolution(mlir::Value input, mlir::Value weight, llvm::ArrayRef<mlir::AffineExpr> sizes,
                               llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int64_t> gaps, mlir::Type accumulator);

  /// A plane in channels-last of several groups, of sizes that are known where tw_tile.grouped_convolution asks for it.
  bool inGroups(graph::ConvolutionOp op);
  /// That op on an input without padding, the weight as groupedWeight() or turnedGroups() gives it.
  mlir::Value groupedConvolution(mlir::Value input, mlir::Value weight, llvm::ArrayRef<mlir::AffineExpr> sizes,
                                 llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int64_t> gaps,
                                 llvm::ArrayRef<int64_t> before, mlir::Type accumulator);

  /// Splits dimension `dim` of the tensor into groups x rest.
  mlir::Value splitGroups(mlir::Value tensor, llvm::SmallVector<mlir::AffineExpr> &sizes, unsigned dim);
};

/// accumulator + in[0] * in[1], the factors widened to the accumulator's type: the body of a product.
llvm::SmallVector<mlir::Value> multiplyAdd(mlir::OpBuilder &b, mlir::Location at, mlir::ValueRange in,
                                           mlir::Value accumulator);

/// The input of a transposed convolution: `stride - 1` zeros between its elements, surrounded so that a plain
/// convolution with the flipped weight gives the result. `sizes` become those of what is returned.
mlir::Value spreadInput(Convolution &conv, graph::ConvolutionOp op, llvm::SmallVector<mlir::AffineExpr> &sizes,
                        llvm::ArrayRef<mlir::AffineExpr> weightSizes);
/// The weight with its kernel dimensions reversed.
mlir::Value flippedWeight(Convolution &conv, mlir::Value graphValue);
/// A transposed convolution with a stride as convolutions without, in `accumulator`; null where there are none.
mlir::Value transposedInPhases(Convolution &conv, graph::ConvolutionOp op);

/// The weight of a convolution in groups, in the accumulator's type.
mlir::Value groupedWeight(Convolution &conv, mlir::Value graphValue, mlir::Type accumulator);
/// Where tap `tap` along dimension `dim` lies in the original weight.
using TapPlace = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, unsigned dim, mlir::Value tap)>;
/// The weight of a transposed convolution in groups as a plain one reads it: `kernel` taps, from where `placeOf` says.
mlir::Value turnedGroups(Convolution &conv, mlir::Value graphValue, llvm::ArrayRef<mlir::AffineExpr> kernel,
                         mlir::Type accumulator, TapPlace placeOf);
/// A transposed convolution in groups as a plain one, in `accumulator`.
mlir::Value inGroupsTransposed(Convolution &conv, graph::ConvolutionOp op, mlir::Type accumulator);

mlir::LogicalResult lowerWeightGradient(Lowering &l, graph::ConvolutionWeightGradOp op);

} // namespace tilewright::structured

#endif
