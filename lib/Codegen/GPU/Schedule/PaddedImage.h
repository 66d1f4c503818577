//===- PaddedImage.h - a tensor with zeros around it, as an operand of a product ----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PADDEDIMAGE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PADDEDIMAGE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright::gpu {

/// An operand whose element at index i is `image`[i - before], or zero outside of `image`.
struct PaddedImage {
  mlir::BlockArgument image;
  llvm::SmallVector<int64_t> before; ///< for each dimension; negative if the first elements are left out
};

/// Returns `value` as a padded image, if it is an argument of the kernel or a linalg.generic that pads one with zeros.
std::optional<PaddedImage> matchPaddedImage(mlir::Value value);

} // namespace tilewright::gpu

#endif
