//===- OnnxSizes.h - arithmetic with sizes that reshapes and slices share ------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXSIZES_H
#define TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXSIZES_H

#include "lib/Frontend/Onnx/OnnxNode.h"

namespace tilewright {

/// The number that a size is; nullopt: it is symbolic.
std::optional<int64_t> knownSize(AffineExpr size);

/// The sizes that Reshape means: 0 is the input's (unless `allowZero`), -1 what remains. Refuses through `n`.
SmallVector<AffineExpr> reshapedSizes(OnnxNode &n, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> wanted,
                                      bool allowZero);

/// One dimension of a slice: `count` elements from `first` on, every `step`th; backwards where step is negative.
struct SlicedDim {
  AffineExpr first, count;
  int64_t step = 1;
};
/// What ONNX's start, end and step mean along a dimension of `size` elements. Refuses where the ranges of the symbols
/// do not say it.
SlicedDim slicedDim(OnnxNode &n, AffineExpr start, AffineExpr end, int64_t step, AffineExpr size);

/// The slices that a Slice node asks for, by dimension.
std::optional<SmallVector<std::pair<int64_t, SlicedDim>>> readSlices(OnnxNode &n, ArrayRef<AffineExpr> sizes);

/// The sizes of a Split's parts along `dim`.
SmallVector<AffineExpr> splitSizes(OnnxNode &n, AffineExpr size);

/// Numpy's rule for two shapes. Sizes that symbols may make equal are; the op that broadcasts states it.
std::optional<SmallVector<AffineExpr>> broadcastShapes(OnnxNode &n, ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b);

} // namespace tilewright

#endif
