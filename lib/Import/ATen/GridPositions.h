//===- GridPositions.h - the pixels around the positions of a grid -----------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_GRIDPOSITIONS_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_GRIDPOSITIONS_H

#include "lib/Import/ATen/GridSampling.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright {

/// A pixel along one dimension from which a position is interpolated.
struct GridTap {
  Value position; ///< the index of the pixel, in the grid's type
  Value weight;   ///< null: 1
  Value slope;    ///< the derivative of the weight with respect to the position; null: 0, or not computed
};

/// The pixels along one dimension from which the positions are interpolated.
struct GridTaps {
  SmallVector<GridTap, 4> all;
  Value slope; ///< the derivative of the position with respect to its coordinate; null: not computed
};

/// For each position of the grid, one of the pixels around it: a combination of one tap per dimension.
struct GridPixel {
  ArrayRef<GridTap> taps; ///< taps of each dimension of the image
  Value weight;           ///< the product of the weights; null: 1
  Value inside;           ///< false for a pixel outside the image
  Value index;            ///< the index in the flattened image; that of another pixel if `inside` is false
};

/// The positions of a grid [N, outputs..., number of sizes] among the pixels of images [N, C, sizes...].
class GridPositions {
public:
  /// `image` and `grid` have passed fitsGrid(). The derivatives are computed only with `withSlopes`.
  GridPositions(Node &n, Value image, Value grid, const GridSampling &how, bool withSlopes = false);

  /// Calls `use` for each combination of one tap per dimension.
  void forEachPixel(llvm::function_ref<void(const GridPixel &)> use);

  /// Returns the values of a pixel as [N, C, positions]. They are 0 outside the image.
  Value read(const GridPixel &pixel);
  /// Returns the index of a pixel as [N, C, positions].
  Value indexOf(const GridPixel &pixel);
  /// Reshapes a tensor of one value per position to [N, 1, positions].
  Value forChannels(Value value) { return n.reshape(value, {outputs[0], n.constantSize(1), positions}); }

  SmallVector<AffineExpr> sizes;   ///< of an image
  SmallVector<AffineExpr> outputs; ///< N and the sizes of the grid
  SmallVector<AffineExpr> results; ///< N, C and the sizes of the grid
  AffineExpr positions;            ///< number of positions per image
  Value pixels;                    ///< [N, C, number of pixels]
  SmallVector<GridTaps> taps;      ///< taps of each dimension of the image

private:
  Value number(double value) { return n.scalar(value, type); }
  Value last(size_t k) { return n.indexScalar(canonicalSize(sizes[k] - 1), type); }
  Value count(size_t k) { return n.indexScalar(sizes[k], type); }
  Value among(Value coordinate, size_t k);
  Value clipped(Value position, size_t k) { return n.op<MinimumOp>({n.op<MaximumOp>(position, 0.0), last(k)}); }
  Value reflected(Value position, size_t k, Value *slope);
  Value padded(Value position, size_t k, Value *slope = nullptr);
  GridTaps tapsOf(Value coordinate, size_t k);
  void combine(SmallVectorImpl<GridTap> &chosen, llvm::function_ref<void(const GridPixel &)> use);
  GridPixel pixelOf(ArrayRef<GridTap> chosen);

  Node &n;
  const GridSampling how;
  const bool withSlopes;
  Type type;  ///< element type of positions: f32 or f64
  Type index; ///< element type of indices: i32 for images that are known to have less than 2^31 pixels, otherwise i64
};

} // namespace tilewright

#endif
