//===- OnnxSizes.h - size arithmetic of reshapes and slices --------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXSIZES_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXSIZES_H

#include "lib/Import/ONNX/OnnxNode.h"

namespace tilewright {

/// Returns the value of a constant size, or nullopt if it is symbolic.
std::optional<int64_t> knownSize(AffineExpr size);

/// Returns Reshape's sizes: 0 copies the input's (unless `allowZero`), -1 is the remaining one. Refuses through `n`.
SmallVector<AffineExpr> reshapedSizes(OnnxNode &n, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> wanted,
                                      bool allowZero);

/// One dimension of a slice: `count` elements from `first` on, every `step`th; backwards if step is negative.
struct SlicedDim {
  AffineExpr first, count;
  int64_t step = 1;
};
/// Converts ONNX's start, end and step along a dimension of `size` elements. Refuses invalid steps.
SlicedDim slicedDim(OnnxNode &n, AffineExpr start, AffineExpr end, int64_t step, AffineExpr size);

/// Returns the slices that a Slice node requests, by dimension.
std::optional<SmallVector<std::pair<int64_t, SlicedDim>>> readSlices(OnnxNode &n, ArrayRef<AffineExpr> sizes);

/// Returns the sizes of a Split's parts; `size` is that of the split dimension.
SmallVector<AffineExpr> splitSizes(OnnxNode &n, AffineExpr size);

/// Broadcasts two shapes by numpy's rule. Sizes that may be equal for some symbols are assumed equal; the op that
/// broadcasts checks the assumption.
std::optional<SmallVector<AffineExpr>> broadcastShapes(OnnxNode &n, ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b);

} // namespace tilewright

#endif
