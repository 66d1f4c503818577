//===- GridSampling.cpp - interpolated reads of images ---------------------------------===//
//
// The result is a weighted sum of the pixels around each position of the grid (GridPositions.h). With the padding mode
// "zeros", a pixel outside the image is 0.
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py, test/Conformance/onnx (GridSample)
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/GridPositions.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Imports grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners).
Results gridSampler(Node &n) {
  Value image = n.tensor(0, "input"), grid = n.tensor(1, "grid");
  GridSampling how = readGridSampling(n, 2);
  if (n.failed())
    return n.refused();
  Value result = sampleGrid(n, image, grid, how);
  return n.failed() ? n.refused() : Results(result);
}

/// Imports affine_grid_generator(theta [N, d, d + 1], size, align_corners), which applies the affine map `theta` to the
/// position of each pixel.
Results affineGrid(Node &n) {
  Value theta = n.tensor(0, "theta");
  SmallVector<AffineExpr> size = n.sizes(1, "size");
  bool align = n.flag(2, "align_corners");
  const int64_t spatial = int64_t(size.size()) - 2;
  if (!n.demand(n.rankOf(theta) == 3 && spatial >= 1 && n.type().getRank() == spatial + 2, "it takes matrices") ||
      !n.demand(n.sizesIn(theta)[1] == n.constantSize(spatial) && n.sizesIn(theta)[2] == n.constantSize(spatial + 1),
                "its matrices have another size"))
    return n.refused();
  Type compute = n.accumulator(n.elementOf(theta));
  SmallVector<AffineExpr> outputs(ArrayRef(size).drop_front(2)), whole(outputs);
  whole.push_back(n.constantSize(1));
  SmallVector<Value> columns;
  for (int64_t k = spatial - 1; k >= 0; --k) {
    Value number = n.iota({outputs[k]}, 0, compute);
    Value count = n.indexScalar(outputs[k], compute), one = n.scalar(1, compute);
    Value position;
    if (align && outputs[k] == n.constantSize(1))
      position = n.op<MulOp>(number, 0.0);
    else if (align)
      position = n.op<AddOp>(n.op<DivOp>({n.op<MulOp>(number, 2.0), n.op<SubOp>({count, one})}), -1.0);
    else
      position = n.op<AddOp>(n.op<DivOp>({n.op<AddOp>(n.op<MulOp>(number, 2.0), 1.0), count}), -1.0);
    columns.push_back(n.broadcast(n.alongDim(position, k, spatial + 1), whole));
  }
  columns.push_back(n.broadcast(n.scalar(1, compute), whole));
  AffineExpr pixels = n.product(outputs);
  Value base = n.reshape(n.concat(columns, spatial), {pixels, n.constantSize(spatial + 1)});
  Value batch = n.broadcast(base, {size[0], pixels, n.constantSize(spatial + 1)});
  Value grid = n.matmul(batch, n.transpose(n.cast(theta, compute), 1, 2));
  return n.reshape(n.cast(grid, n.element()), n.type());
}

} // namespace

GridSampling readGridSampling(Node &n, unsigned first) {
  int64_t mode = n.integer(first, "interpolation_mode"), padding = n.integer(first + 1, "padding_mode");
  bool align = n.flag(first + 2, "align_corners");
  if (!n.demand(mode >= 0 && mode <= 2 && padding >= 0 && padding <= 2, "unknown mode or padding"))
    return {};
  return {GridSampling::Mode(mode), GridSampling::Padding(padding), align};
}

bool fitsGrid(Node &n, Value image, Value grid, const GridSampling &how) {
  const int64_t rank = n.rankOf(image);
  if (!n.demand(rank >= 3 && n.rankOf(grid) == rank && isa<FloatType>(n.elementOf(image)) &&
                    isa<FloatType>(n.elementOf(grid)),
                "it takes images and a grid of as many dimensions, of floats") ||
      !n.demand(n.sizesIn(grid).back() == n.constantSize(rank - 2) && n.agreed(n.sizesIn(grid)[0], n.sizesIn(image)[0]),
                "its grid does not fit its images") ||
      !n.demand(how.mode != GridSampling::Mode::Cubic || rank == 4,
                "cubic interpolation takes images of two dimensions") ||
      !n.demand(rank <= 5, "images of more than three dimensions") ||
      !n.demand(!llvm::is_contained(ArrayRef(n.sizesIn(image)).drop_front(2), n.constantSize(0)),
                "an image without pixels"))
    return false;
  n.require(n.sizesIn(grid)[0], n.sizesIn(image)[0]);
  return !n.failed();
}

Value sampleGrid(Node &n, Value image, Value grid, const GridSampling &how) {
  if (!fitsGrid(n, image, grid, how))
    return {};
  Type element = n.elementOf(image), compute = n.accumulator(element);
  Value coordinates = n.cast(grid, n.accumulator(n.elementOf(grid)));
  GridPositions at(n, n.cast(image, compute), coordinates, how);
  if (n.isEmpty(image) || n.isEmpty(grid))
    return n.broadcast(n.scalar(0, element), at.results);
  Value sum;
  at.forEachPixel([&](const GridPixel &pixel) {
    Value value = at.read(pixel);
    if (pixel.weight)
      value = n.op<MulOp>({value, n.cast(at.forChannels(pixel.weight), compute)});
    sum = sum ? n.op<AddOp>({sum, value}) : value;
  });
  return n.cast(n.reshape(sum, at.results), element);
}

void registerGridSampling(Table &t) {
  t["aten.grid_sampler.default"] = gridSampler;
  t["aten.grid_sampler_2d.default"] = t["aten.grid_sampler_3d.default"] = gridSampler;
  t["aten.affine_grid_generator.default"] = affineGrid;
}

} // namespace tilewright
