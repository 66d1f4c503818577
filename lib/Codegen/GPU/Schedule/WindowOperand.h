//===- WindowOperand.h - images of convolutions as operands of products -------------------===//
//
// A convolution in channels-last layout is a product whose A consists of windows of an image. Its loops are:
//
//   rows: n, oh, ow        columns: f        sum: kh, kw, c
//   A: image[n, oh * stepH + kh * dilationH, ow * stepW + kw * dilationW, c]        B: weight[kh, kw, c, f]
//
// kh and kw are the taps. For one tap, A is a matrix of the elements of one pixel per window, which TMA loads by a map
// of windows (mode im2col): consecutive windows are the rows, and channels are along k.
//
// If windows do not overlap along the width and cover the whole image, as in image[n, oh * 2 + kh, ow * 2 + kw, c], the
// elements of (kw, c) are contiguous, so kw is not a tap. The image is then a tensor (n, h, ow, kw c).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WINDOWOPERAND_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WINDOWOPERAND_H

#include "lib/Codegen/GPU/Contraction.h"

namespace tilewright::gpu {

/// A dimension of an image that is read in windows. Window number i begins at `lower` + `step` * i, and tap number t of
/// a window is `dilation` * t elements after its beginning.
struct WindowDimension {
  std::optional<unsigned> window; ///< loop over the windows, if there are several
  std::optional<unsigned> tap;    ///< loop over the taps, if there are several
  int64_t size = 0;               ///< elements of the image
  int64_t windows = 0, step = 1;
  int64_t taps = 1, dilation = 0;
  int64_t lower = 0;

  /// Returns true if windows do not overlap and cover the whole image.
  bool dividesImage() const {
    return taps > 1 && taps == step && dilation == 1 && lower == 0 && size == windows * step;
  }
  /// Returns the position of the last window relative to the last element of the image.
  int64_t upper() const { return lower + (windows - 1) * step - (size - 1); }
};

/// A linear expression of loop indices: a sum of multiples of the indices and a constant.
struct LoopTerms {
  llvm::SmallMapVector<unsigned, int64_t, 4> factors; ///< the factor of each loop
  int64_t number = 0;
};

/// Returns `expr` as a linear expression of loop indices. Returns std::nullopt for other expressions.
std::optional<LoopTerms> loopTerms(mlir::AffineExpr expr);

/// Returns the taps of `product`: reduction loops of more than one iteration that, together with a loop of rows or
/// columns, index one dimension of an operand. The loops have the order of `product.depth`. Loops that are contiguous
/// with the channels are left out.
llvm::SmallVector<unsigned> tapsOf(Contraction product);

/// Returns `expr`, an index of a dimension of `size` elements, as windows. Returns std::nullopt if it does not have the
/// form window * step + tap * dilation, with sizes that are known.
std::optional<WindowDimension> windowDimension(Contraction product, mlir::AffineExpr expr, mlir::AffineExpr size);

/// Returns the reason why TMA cannot load windows of an image with the dimensions `windows`, or an empty string.
std::string whyNotWindows(llvm::ArrayRef<WindowDimension> windows);

/// Returns true if `operand` is read in windows.
bool hasWindows(Contraction product, mlir::OpOperand *operand);

/// Returns the average number of times that the sums of one column read an element of the image of a convolution.
/// Returns 1 for other products.
double timesRead(Contraction product);

} // namespace tilewright::gpu

#endif
