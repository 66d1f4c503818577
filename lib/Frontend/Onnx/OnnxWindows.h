//===- OnnxWindows.h - what convolutions and pools say of their windows --------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXWINDOWS_H
#define TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXWINDOWS_H

#include "lib/Frontend/Onnx/OnnxNode.h"

namespace tilewright {

/// Windows over the last dimensions of N x C x spatial; one entry per spatial dimension.
struct OnnxWindows {
  SmallVector<int64_t> kernel, stride, dilation, low, high; ///< low, high: padding before and behind
  SmallVector<int64_t> more; ///< elements behind the padding that ceil_mode's last window reaches
  SmallVector<AffineExpr> count;
  /// Where padding follows from a symbolic size: low and high are the most it may be, and of what is padded by them the
  /// windows see `length` elements from `start` on; null: all.
  SmallVector<AffineExpr> start, length;
  bool symmetric() const {
    return low == high && llvm::all_of(more, [](int64_t m) { return m == 0; }) &&
           llvm::none_of(start, [](AffineExpr s) { return bool(s); });
  }
};

/// Reads kernel_shape (unless `kernel` is given), strides, dilations, pads, auto_pad and ceil_mode for windows over
/// `x`.
OnnxWindows readWindows(OnnxNode &n, Value x, ArrayRef<int64_t> kernel = {});

/// `x` with the spatial padding of `w` around it.
Value paddedFor(OnnxNode &n, Value x, const OnnxWindows &w, Attribute filler = {});

/// N x C x spatial with `channels` and the counts of `w`.
RankedTensorType windowedType(OnnxNode &n, Value x, AffineExpr channels, const OnnxWindows &w);

/// Convolution of x by weight, padding and all; no bias.
Value convolve(OnnxNode &n, Value x, Value weight, const OnnxWindows &w, int64_t groups);

} // namespace tilewright

#endif
