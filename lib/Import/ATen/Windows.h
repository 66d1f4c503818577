//===- Windows.h - images as sums of their windows -----------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_WINDOWS_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_WINDOWS_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// The windows along one dimension of an image. Window i has the pixels i * stride + k * dilation - low for k < kernel;
/// pixels outside the image are ignored.
struct FoldedWindows {
  int64_t kernel, stride, dilation, low, high; ///< low, high: pixels of padding before and after
  AffineExpr size;                             ///< of the image

  /// Returns the number of windows that fit.
  AffineExpr count() const {
    return canonicalSize((size + low + high - dilation * (kernel - 1) - 1).floorDiv(stride) + 1);
  }
};

/// Returns the image [n, c, sizes..] of `x` [n, c * kernels, windows]: each pixel is the sum of its copies in all
/// windows, computed in f32 for f16 and bf16. `windows` has one entry per dimension of the image. Requires that `x` has
/// as many windows as fit.
Value imageOfWindows(Node &n, Value x, ArrayRef<FoldedWindows> windows);

} // namespace tilewright

#endif
