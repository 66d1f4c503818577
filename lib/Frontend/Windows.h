//===- Windows.h - images put back together from their windows -----------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_WINDOWS_H
#define TILEWRIGHT_LIB_FRONTEND_WINDOWS_H

#include "lib/Frontend/Node.h"

namespace tilewright {

/// The windows along one dimension of an image. Window i has the pixels i * stride + k * dilation - low, k < kernel,
/// of which those outside the image are dropped.
struct FoldedWindows {
  int64_t kernel, stride, dilation, low, high; ///< low, high: pixels of padding before and behind
  AffineExpr size;                             ///< of the image
};

/// [n, c, sizes..] of `x` [n, c * kernels, windows]: each pixel is the sum of what all windows have of it, in f32 for
/// f16 and bf16. One of `windows` per dimension of the image. Requires that `x` has as many windows as fit.
Value imageOfWindows(Node &n, Value x, ArrayRef<FoldedWindows> windows);

} // namespace tilewright

#endif
