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

  /// Returns the number of windows that fit in the padded image.
  AffineExpr count() const {
    return canonicalSize((size + low + high - dilation * (kernel - 1) - 1).floorDiv(stride) + 1);
  }
};

/// Returns the image [n, c, sizes..] whose windows are the columns of `x` [n, c * k, l] (col2im). k is the product of
/// the kernel sizes, and l is the total number of windows, which must be the number that fits in the padded image. Each
/// pixel is the sum of its copies in all windows, computed in f32 for f16 and bf16. `windows` has one entry per spatial
/// dimension of the image.
Value imageOfWindows(Node &n, Value x, ArrayRef<FoldedWindows> windows);

} // namespace tilewright

#endif
