//===- Pooling.h - arguments and windows of pooling ------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_POOLING_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_POOLING_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Reads an argument with one number per spatial dimension, or one number for all of them. If the argument is missing
/// or empty, returns `otherwise`. Refuses a padding below 0, and other arguments below 1.
SmallVector<int64_t> perDim(Node &n, unsigned index, llvm::StringRef name, int64_t spatial,
                            SmallVector<int64_t> otherwise);

/// Adds a batch dimension of size 1 to `value`, or to `type`, if it has none. torch's pools accept tensors without a
/// batch dimension.
Value batched(Node &n, Value value, int64_t spatial);
RankedTensorType batchedType(RankedTensorType type, int64_t spatial);

/// The windows of adaptive pooling along one dimension. Window i is from floor(i * in / out) to
/// ceil((i + 1) * in / out), where `in` and `out` are the sizes of the dimension in the input and in the result.
struct AdaptiveWindows {
  Value start, end; ///< bounds of each window, as [out, 1] in i64
};
AdaptiveWindows adaptiveWindows(Node &n, AffineExpr in, AffineExpr out);

/// The windows of max pooling along one dimension of a plane.
struct WindowLine {
  Value start;             ///< the first index of each window; broadcasts to the shape of the result
  AffineExpr length, size; ///< numbers of elements of a window and of the dimension
};

/// Returns the largest element of each window, and its index in the plane, from the elements `values`
/// [lead.., windows.., elements..]. The first of equal elements is chosen, and a NaN is larger than numbers.
Results largestOf(Node &n, Value values, ArrayRef<WindowLine> lines);

/// Returns empty tensors for the maxima and the indices of a max pooling operator whose output has no elements.
Results noMaxima(Node &n);

} // namespace tilewright

#endif
