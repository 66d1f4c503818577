//===- OnnxSizes.h - size arithmetic of reshapes and slices --------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXSIZES_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXSIZES_H

#include "lib/Import/ONNX/OnnxNode.h"

namespace tilewright {

/// Returns the value of `size` if it is constant, or nullopt if it is symbolic.
std::optional<int64_t> knownSize(AffineExpr size);

/// Returns the sizes of the result of a Reshape of a tensor with the sizes `from` to `wanted`. A size of 0 is replaced
/// by that of the input (unless `allowZero`), and -1 by the size that keeps the number of elements. Refuses the node
/// `n` if no such sizes exist.
SmallVector<AffineExpr> reshapedSizes(OnnxNode &n, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> wanted,
                                      bool allowZero);

/// One dimension of a slice: `count` elements from the index `first` on, at a distance of `step`, which may be
/// negative.
struct SlicedDim {
  AffineExpr first, count;
  int64_t step = 1;
};
/// Converts the start, end and step of an ONNX slice along a dimension of `size` elements. Refuses the node if the step
/// is invalid.
SlicedDim slicedDim(OnnxNode &n, AffineExpr start, AffineExpr end, int64_t step, AffineExpr size);

/// Returns the dimensions that a Slice node slices, with their slices. Returns nullopt after a refusal.
std::optional<SmallVector<std::pair<int64_t, SlicedDim>>> readSlices(OnnxNode &n, ArrayRef<AffineExpr> sizes);

/// Returns the sizes of the parts of a Split node. `size` is the size of the split dimension.
SmallVector<AffineExpr> splitSizes(OnnxNode &n, AffineExpr size);

/// Broadcasts two shapes by NumPy's rule. Sizes that may be equal for some values of symbols are assumed to be equal.
/// The op that broadcasts checks this assumption. Returns nullopt if the shapes cannot be broadcast.
std::optional<SmallVector<AffineExpr>> broadcastShapes(OnnxNode &n, ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b);

} // namespace tilewright

#endif
