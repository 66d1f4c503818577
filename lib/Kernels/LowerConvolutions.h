//===- LowerConvolutions.h - shared parts of the lowerings of convolutions -----===//
#ifndef TILEWRIGHT_LIB_KERNELS_LOWERCONVOLUTIONS_H
#define TILEWRIGHT_LIB_KERNELS_LOWERCONVOLUTIONS_H

#include "lib/Kernels/Lowering.h"

namespace tilewright::structured {

inline mlir::RankedTensorType convolvedType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The sizes and loops of one convolution. The positions of the dimensions describe both layouts (channels-first and
/// channels-last).
struct Convolution {
  Lowering &l;
  bool channelsLast;
  int64_t groups;
  unsigned spatial; // number of spatial dimensions
  llvm::ArrayRef<int64_t> stride, padding, dilation;
  /// The input in the graph. If a tw.pad appends only zeros in space to the input of a convolution that is not
  /// transposed, `source` is the input of this tw.pad.
  mlir::Value source;
  /// The numbers of zeros before and after each spatial dimension of `source`. They may differ because of a tw.pad.
  llvm::SmallVector<int64_t> before, after;

  /// Describes a tw.convolution or a tw.convolution_weight_grad.
  template <typename Op> static Convolution of(Lowering &l, Op op) {
    Convolution conv{l,
                     op->hasAttr(graph::channelsLastAttrName),
                     static_cast<int64_t>(op.getGroups()),
                     static_cast<unsigned>(convolvedType(op.getResult()).getRank() - 2),
                     op.getStride(),
                     op.getPadding(),
                     op.getDilation(),
                     op.getInput(),
                     llvm::to_vector(op.getPadding()),
                     llvm::to_vector(op.getPadding())};
    if constexpr (std::is_same_v<Op, graph::ConvolutionOp>)
      if (op.getTransposed())
        return conv;
    conv.absorbPads();
    return conv;
  }

  unsigned channelDim() const { return channelsLast ? 1 + spatial : 1; }
  unsigned firstSpatialDim() const { return channelsLast ? 1 : 2; }
  mlir::TypedAttr zero(mlir::Type type) { return mlir::cast<mlir::TypedAttr>(l.builder.getZeroAttr(type)); }

  /// Sets `source`, `before` and `after` as described at these members.
  void absorbPads();
  /// Returns `source` padded with zeros, or cropped where the padding is negative. Without padding, returns `source`
  /// itself.
  mlir::Value padSource();

  /// Returns true for 2-D channels-last convolutions with one group, which linalg.conv_2d_nhwc_hwcf computes.
  bool inPlane() const { return channelsLast && groups == 1 && spatial == 2; }
  mlir::Value planeConvolution(mlir::Value input, mlir::Value weight, llvm::ArrayRef<mlir::AffineExpr> sizes,
                               llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int64_t> gaps, mlir::Type accumulator);

  /// Returns true for 2-D channels-last convolutions of floats with several groups and the known sizes that
  /// tw_tile.grouped_convolution needs.
  bool inGroups(graph::ConvolutionOp op);
  /// Emits tw_tile.grouped_convolution on an input without padding. The weight is the result of groupedWeight() or
  /// transposedGroups().
  mlir::Value groupedConvolution(mlir::Value input, mlir::Value weight, llvm::ArrayRef<mlir::AffineExpr> sizes,
                                 llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int64_t> gaps,
                                 llvm::ArrayRef<int64_t> before, mlir::Type accumulator);

  /// Splits dimension `dim` of the tensor into groups x rest.
  mlir::Value splitGroups(mlir::Value tensor, llvm::SmallVector<mlir::AffineExpr> &sizes, unsigned dim);
};

/// Emits the body of a product: accumulator + in[0] * in[1], with the factors widened to the accumulator's type.
llvm::SmallVector<mlir::Value> multiplyAdd(mlir::OpBuilder &b, mlir::Location at, mlir::ValueRange in,
                                           mlir::Value accumulator);

/// Returns the input of a transposed convolution with `stride - 1` zeros between its elements, and with padding. A
/// plain convolution of the returned tensor with the flipped weight computes the result. `sizes` is set to the sizes of
/// the returned tensor.
mlir::Value spreadInput(Convolution &conv, graph::ConvolutionOp op, llvm::SmallVector<mlir::AffineExpr> &sizes,
                        llvm::ArrayRef<mlir::AffineExpr> weightSizes);
/// Returns the weight with its kernel dimensions reversed.
mlir::Value flippedWeight(Convolution &conv, mlir::Value graphValue);
/// Lowers a strided transposed convolution to convolutions with stride 1, and returns the result in the accumulator's
/// type. Returns null if this is impossible.
mlir::Value transposedInPhases(Convolution &conv, graph::ConvolutionOp op);

/// Returns the weight of a grouped convolution in the accumulator's type.
mlir::Value groupedWeight(Convolution &conv, mlir::Value graphValue, mlir::Type accumulator);
/// A function that returns the index of tap `tap` along dimension `dim` in the original weight.
using TapIndex = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, unsigned dim, mlir::Value tap)>;
/// Returns the weight of a grouped transposed convolution in the form that a plain convolution reads: the channels and
/// filters of each group are transposed. The result has `kernel[dim]` taps along dimension `dim`, and each is read from
/// the index that `indexOf` returns.
mlir::Value transposedGroups(Convolution &conv, mlir::Value graphValue, llvm::ArrayRef<mlir::AffineExpr> kernel,
                             mlir::Type accumulator, TapIndex indexOf);
/// Lowers a grouped transposed convolution to a grouped convolution with stride 1, which sums in `accumulator`.
mlir::Value inGroupsTransposed(Convolution &conv, graph::ConvolutionOp op, mlir::Type accumulator);

mlir::LogicalResult lowerWeightGradient(Lowering &l, graph::ConvolutionWeightGradOp op);

} // namespace tilewright::structured

#endif
