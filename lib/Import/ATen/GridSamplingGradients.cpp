//===- GridSamplingGradients.cpp - gradients of interpolated reads ---------------------------===//
//
// The result of grid_sample is the sum of weight * pixel over the pixels around a position. Let g be the gradient of
// the result:
//
//   gradient of a pixel        sum of g * weight over all positions that read the pixel
//   gradient of a coordinate   d(position)/d(coordinate) * sum of g * pixel * d(weight)/d(position)
//                              over the channels and the pixels around the position
//
// The weight of a pixel is the product of one weight per dimension. d(weight)/d(position) along a dimension is this
// product with the weight of the dimension replaced by its derivative. In the mode "nearest", the weight is constant,
// so the gradient of the grid is 0.
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/GridPositions.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Adds the part of the gradient `grad` [N, C, positions] that belongs to `pixel` to `sum` [N, C, number of pixels].
Value addAtPixel(Node &n, GridPositions &at, const GridPixel &pixel, Value grad, Value sum) {
  Value part = pixel.weight ? n.op<MulOp>({grad, at.forChannels(pixel.weight)}) : grad;
  part = n.where(at.forChannels(pixel.inside), part, n.scalar(0, n.elementOf(grad)));
  return scatterAlong(n, sum, at.indexOf(pixel), part, 2, ScatterKind::Add);
}

/// Returns the derivative of the weight of `pixel` with respect to the position along dimension `dim`.
Value slopeAlong(Node &n, const GridPixel &pixel, size_t dim) {
  Value product;
  for (auto [k, tap] : llvm::enumerate(pixel.taps)) {
    Value factor = k == dim ? tap.slope : tap.weight;
    product = product ? n.op<MulOp>({product, factor}) : factor;
  }
  return product;
}

/// Imports grid_sampler_2d_backward and grid_sampler_3d_backward(grad_output, input, grid, interpolation_mode,
/// padding_mode, align_corners, output_mask). As in eager, the second entry of the mask is ignored.
template <int64_t spatial> Results gradientsOfSamples(Node &n) {
  Value grad = n.tensor(0, "grad_output"), image = n.tensor(1, "input"), grid = n.tensor(2, "grid");
  const GridSampling how = readGridSampling(n, 3);
  SmallVector<bool> wanted = n.flags(6, "output_mask");
  Type element = n.elementOf(image);
  if (!n.demand(wanted.size() == 2, "output_mask needs two entries") ||
      !n.demand(n.rankOf(image) == spatial + 2 && n.rankOf(grad) == spatial + 2, "its images have another rank") ||
      !n.demand((element.isF32() || element.isF64()) && n.elementOf(grad) == element && n.elementOf(grid) == element,
                "its operands are not all of float32 or all of float64") ||
      !fitsGrid(n, image, grid, how))
    return n.refused();
  Value zero = n.scalar(0, element), noGridGradient = n.broadcast(zero, n.sizesIn(grid));
  if (n.isEmpty(image) || n.isEmpty(grid))
    return {wanted[0] ? n.broadcast(zero, n.sizesIn(image)) : Value(), noGridGradient};

  GridPositions at(n, image, grid, how, /*withSlopes=*/true);
  const bool isNearest = how.mode == GridSampling::Mode::Nearest;
  const AffineExpr channels = at.results[1];
  Value flat = n.reshape(n.withSizes(grad, at.results), {at.outputs[0], channels, at.positions});
  Value ofImage = n.broadcast(zero, n.sizesIn(at.pixels));
  SmallVector<Value> ofPositions(spatial); // [N, C, positions] for each dimension, without the factor g
  at.forEachPixel([&](const GridPixel &pixel) {
    if (wanted[0])
      ofImage = addAtPixel(n, at, pixel, flat, ofImage);
    if (isNearest)
      return;
    Value value = at.read(pixel);
    for (int64_t dim = 0; dim < spatial; ++dim) {
      Value part = n.op<MulOp>({value, at.forChannels(slopeAlong(n, pixel, dim))});
      ofPositions[dim] = ofPositions[dim] ? n.op<AddOp>({ofPositions[dim], part}) : part;
    }
  });

  Value imageGradient;
  if (wanted[0]) {
    SmallVector<AffineExpr> shape{at.outputs[0], channels};
    llvm::append_range(shape, at.sizes);
    imageGradient = n.withSizes(n.reshape(ofImage, shape), n.sizesIn(image));
  }
  if (isNearest)
    return {imageGradient, noGridGradient};
  SmallVector<AffineExpr> column(at.outputs);
  column.push_back(n.constantSize(1));
  SmallVector<Value> columns; // one column per coordinate; the coordinate of the last dimension is the first
  for (int64_t dim = spatial - 1; dim >= 0; --dim) {
    Value sum = n.reduce(ReduceKind::Sum, n.op<MulOp>({flat, ofPositions[dim]}), {1}, false);
    columns.push_back(n.reshape(n.op<MulOp>({n.reshape(sum, at.outputs), at.taps[dim].slope}), column));
  }
  return {imageGradient, n.concat(columns, spatial + 1)};
}

} // namespace

void registerGridSamplingGradients(Table &t) {
  t["aten.grid_sampler_2d_backward.default"] = gradientsOfSamples<2>;
  t["aten.grid_sampler_3d_backward.default"] = gradientsOfSamples<3>;
}

} // namespace tilewright
