//===- PaddedImage.h - images that a kernel pads or unfolds, as operands of a product ------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PADDEDIMAGE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PADDEDIMAGE_H

#include "lib/Codegen/GPU/Schedule/WindowOperand.h"

namespace tilewright::gpu {

/// Argument attribute (unit) of a kernel that alignRows() has made. A product reads the argument by a
/// tensor.extract_slice, which leaves out the last elements of each row. The elements that are left out are zeros in a
/// model, and finite numbers when the tuner calls the kernel alone. They do not change the result, because the other
/// operand is zero at the same positions.
inline constexpr llvm::StringLiteral alignedAttrName = "tw_gpu.aligned";

/// An operand whose element at index i is `image`[i - before], or zero outside of `image`.
struct PaddedImage {
  mlir::BlockArgument image;
  llvm::SmallVector<int64_t> before; ///< one offset per dimension; negative if the first elements are left out
  bool aligned = false; ///< the operand is `image` without the zeros at the end of each row (alignedAttrName)
};

/// Returns `value` as a padded image. Returns std::nullopt unless `value` is an argument of the kernel, an argument
/// with aligned rows, or the result of a linalg.generic that pads an argument with zeros.
std::optional<PaddedImage> matchPaddedImage(mlir::Value value);

/// A matrix with a row for each window of an image in channels-last layout, and a column for each tap of a window and
/// each channel: rows are (image, window...), columns are (tap..., channel). It is an operand of the gradient of a
/// convolution's weight.
struct Patches {
  mlir::BlockArgument image;
  int64_t firstImage = 0, images = 0;           ///< the images that the matrix reads
  llvm::SmallVector<WindowDimension> windows{}; ///< window dimensions from the slowest to the fastest, without loops
  int64_t channels = 0;
  /// If the rows are divided into a batch of matrices, the number of rows of one matrix. Otherwise, the number of all
  /// rows.
  int64_t rows = 0;
};

/// Returns `value` as patches. `value` must be a view of the result of a linalg.generic that reads an argument of the
/// kernel. The view must have one or two dimensions of rows and one of columns. Elements outside of the image must be
/// zeros. Otherwise, returns std::nullopt.
std::optional<Patches> matchPatches(mlir::Value value);

/// Returns the argument of the kernel that the operand `value` reads. `value` must be a padded image or patches.
mlir::BlockArgument imageOf(mlir::Value value);

} // namespace tilewright::gpu

#endif
