//===- OnnxWindows.h - windows of convolutions and pools -----------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXWINDOWS_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXWINDOWS_H

#include "lib/Import/ONNX/OnnxNode.h"

namespace tilewright {

/// Windows over the spatial dimensions of N x C x spatial; the lists have one entry per spatial dimension.
struct OnnxWindows {
  SmallVector<int64_t> kernel, stride, dilation, low, high; ///< low, high: padding before and after
  SmallVector<int64_t> more; ///< elements after the padding that ceil_mode's last window reaches
  SmallVector<AffineExpr> count;
  /// An expression per spatial dimension, which is not null if the padding depends on a symbolic size. In this case,
  /// `low` and `high` are upper bounds of the padding, and the windows cover `length` elements of the padded input from
  /// `start` on. If the expression is null, the windows cover the whole padded input.
  SmallVector<AffineExpr> start, length;
  bool symmetric() const {
    return low == high && llvm::all_of(more, [](int64_t m) { return m == 0; }) &&
           llvm::none_of(start, [](AffineExpr s) { return bool(s); });
  }
};

/// Reads the attributes strides, dilations, pads, auto_pad and ceil_mode of windows over `x`, and kernel_shape unless
/// `kernel` is given.
OnnxWindows readWindows(OnnxNode &n, Value x, ArrayRef<int64_t> kernel = {});

/// Returns `x` with the spatial padding of `w`.
Value paddedFor(OnnxNode &n, Value x, const OnnxWindows &w, Attribute filler = {});

/// Returns the type of a result with `channels` channels, whose spatial sizes are the numbers of windows in `w`.
RankedTensorType windowedType(OnnxNode &n, Value x, AffineExpr channels, const OnnxWindows &w);

/// Emits a convolution of `x` with `weight`, and the padding of `x`, but not the bias.
Value convolve(OnnxNode &n, Value x, Value weight, const OnnxWindows &w, int64_t groups);

} // namespace tilewright

#endif
