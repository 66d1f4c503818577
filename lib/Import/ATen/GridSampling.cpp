//===- GridSampling.cpp - interpolated reads of images ---------------------------------===//
//
// Each coordinate determines a position between pixels. The result is a weighted sum of the pixels around the position:
// 1 pixel per dimension for the nearest pixel, 2 for linear interpolation, and 4 for cubic interpolation. With the
// padding mode "zeros", a pixel outside the image is 0.
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py, test/Conformance/onnx (GridSample)
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/GridSampling.h"
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"
#include <limits>

namespace tilewright {
namespace {

using Padding = GridSampling::Padding;

/// The index of a pixel along one dimension, in the grid's type, and its weight. A null weight is 1.
struct Tap {
  Value position, weight;
};

class GridReader {
public:
  GridReader(Node &n, Value image, Value grid, const GridSampling &how) : n(n), how(how), type(n.elementOf(grid)) {
    const int64_t rank = n.rankOf(image), spatial = rank - 2;
    sizes = llvm::to_vector(ArrayRef(n.sizesIn(image)).drop_front(2));
    outputs = n.sizesIn(grid);
    outputs.pop_back();
    SmallVector<AffineExpr> shape = n.sizesIn(image);
    shape[0] = outputs[0]; // the batch sizes are equal, but may be different symbols
    AffineExpr count = n.product(sizes);
    pixels = n.reshape(n.withSizes(image, shape), {outputs[0], shape[1], count});
    positions = n.product(ArrayRef(outputs).drop_front());
    auto known = dyn_cast<AffineConstantExpr>(count);
    const bool isSmall = known && known.getValue() <= std::numeric_limits<int32_t>::max();
    index = isSmall ? IntegerType::get(type.getContext(), 32) : n.i64();
    for (int64_t k = 0; k < spatial; ++k)
      coordinates.push_back(
          n.reshape(n.sliceDim(grid, rank - 1, n.constantSize(spatial - 1 - k), n.constantSize(1)), outputs));
  }

  Value run() {
    SmallVector<SmallVector<Tap>> taps;
    for (size_t k = 0; k < sizes.size(); ++k)
      taps.push_back(tapsOf(k));
    Value sum;
    SmallVector<Tap> chosen;
    add(taps, chosen, sum);
    SmallVector<AffineExpr> shape(outputs);
    shape.insert(shape.begin() + 1, n.sizesIn(pixels)[1]);
    return n.reshape(sum, shape);
  }

private:
  /// Reshapes a tensor of one value per position to [N, 1, positions].
  Value forChannels(Value value) { return n.reshape(value, {outputs[0], n.constantSize(1), positions}); }

  Value number(double value) { return n.scalar(value, type); }
  Value last(size_t k) { return n.indexScalar(canonicalSize(sizes[k] - 1), type); }
  Value count(size_t k) { return n.indexScalar(sizes[k], type); }

  /// Converts coordinate `k`, which is in [-1, 1] within the image, to a pixel position.
  Value among(size_t k) {
    Value from = n.op<AddOp>(coordinates[k], 1.0);
    if (how.alignCorners)
      return n.op<MulOp>({n.op<MulOp>(from, 0.5), last(k)});
    return n.op<MulOp>(n.op<AddOp>(n.op<MulOp>({from, count(k)}), -1.0), 0.5);
  }

  Value clipped(Value position, size_t k) { return n.op<MinimumOp>({n.op<MaximumOp>(position, 0.0), last(k)}); }

  Value padded(Value position, size_t k) {
    if (how.padding == Padding::Zeros)
      return position;
    if (how.padding == Padding::Border)
      return clipped(position, k);
    // Reflect the position at the centers of the outermost pixels (align_corners) or at their outer edges, until it is
    // inside the image.
    if (how.alignCorners && sizes[k] == n.constantSize(1))
      return n.op<MulOp>(position, 0.0);
    double low = how.alignCorners ? 0 : -0.5;
    Value span = how.alignCorners ? last(k) : count(k);
    Value away = n.op<AbsOp>({n.op<AddOp>(position, -low)});
    Value turns = n.op<FloorOp>({n.op<DivOp>({away, span})});
    Value rest = n.op<SubOp>({away, n.op<MulOp>({turns, span})});
    Value half = n.op<MulOp>(turns, 0.5);
    Value even = n.compare<EqOp>(n.op<FloorOp>({half}), half);
    Value mirrored = n.op<AddOp>(n.where(even, rest, n.op<SubOp>({span, rest})), low);
    return clipped(mirrored, k);
  }

  SmallVector<Tap> tapsOf(size_t k) {
    Value position = among(k);
    if (how.mode == GridSampling::Mode::Nearest)
      return {{n.op<RoundOp>({padded(position, k)}), {}}};
    if (how.mode == GridSampling::Mode::Linear)
      position = padded(position, k);
    Value low = n.op<FloorOp>({position}), fraction = n.op<SubOp>({position, low});
    Value complement = n.op<SubOp>({number(1), fraction});
    if (how.mode == GridSampling::Mode::Linear)
      return {{low, complement}, {n.op<AddOp>(low, 1.0), fraction}};
    SmallVector<Tap> taps; // the position of each tap is padded, instead of `position`
    Value weights[] = {cubicWeight(n, n.op<AddOp>(fraction, 1.0), true), cubicWeight(n, fraction, false),
                       cubicWeight(n, complement, false), cubicWeight(n, n.op<AddOp>(complement, 1.0), true)};
    for (int step = -1; step <= 2; ++step)
      taps.push_back({padded(n.op<AddOp>(low, double(step)), k), weights[step + 1]});
    return taps;
  }

  /// Adds the weighted pixels of all combinations of one tap per dimension to `sum`. `chosen` has the taps that were
  /// chosen for the first dimensions.
  void add(ArrayRef<SmallVector<Tap>> taps, SmallVectorImpl<Tap> &chosen, Value &sum) {
    if (chosen.size() < taps.size()) {
      for (const Tap &tap : taps[chosen.size()]) {
        chosen.push_back(tap);
        add(taps, chosen, sum);
        chosen.pop_back();
      }
      return;
    }
    Value inside, weight, flat; // flat: the index of a pixel in its image
    for (auto [k, tap] : llvm::enumerate(chosen)) {
      Value here = n.op<LogicalAndOp>(
          {n.compare<LeOp>(number(0), tap.position), n.compare<LeOp>(tap.position, last(k))}, n.i1());
      inside = inside ? n.op<LogicalAndOp>({inside, here}, n.i1()) : here;
      Value along = n.cast(n.where(here, tap.position, number(0)), index); // 0 outside the image and for NaN
      flat = flat ? n.op<AddOp>({n.op<MulOp>({flat, n.indexScalar(sizes[k], index)}), along}) : along;
      if (tap.weight)
        weight = weight ? n.op<MulOp>({weight, tap.weight}) : tap.weight;
    }
    SmallVector<AffineExpr> shape{outputs[0], n.sizesIn(pixels)[1], positions};
    Type element = n.elementOf(pixels);
    Value read = gatherAlong(n, pixels, n.broadcast(forChannels(flat), shape), 2);
    Value value = n.where(forChannels(inside), read, n.scalar(0, element));
    if (weight)
      value = n.op<MulOp>({value, n.cast(forChannels(weight), element)});
    sum = sum ? n.op<AddOp>({sum, value}) : value;
  }

  Node &n;
  const GridSampling &how;
  Type type;  ///< element type of positions: f32 or f64
  Type index; ///< element type of indices: i32 for images of less than 2^31 pixels, otherwise i64
  SmallVector<AffineExpr> sizes, outputs;
  AffineExpr positions; ///< number of positions per image
  Value pixels;         ///< [N, C, number of pixels]
  SmallVector<Value> coordinates;
};

/// Imports grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners).
Results gridSampler(Node &n) {
  Value image = n.tensor(0, "input"), grid = n.tensor(1, "grid");
  int64_t mode = n.integer(2, "interpolation_mode"), padding = n.integer(3, "padding_mode");
  if (!n.demand(mode >= 0 && mode <= 2 && padding >= 0 && padding <= 2, "its mode or padding is none"))
    return n.refused();
  Value result = sampleGrid(n, image, grid, {GridSampling::Mode(mode), Padding(padding), n.flag(4, "align_corners")});
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

Value sampleGrid(Node &n, Value image, Value grid, const GridSampling &how) {
  const int64_t rank = n.rankOf(image);
  Type element = n.elementOf(image);
  if (!n.demand(rank >= 3 && n.rankOf(grid) == rank && isa<FloatType>(element) && isa<FloatType>(n.elementOf(grid)),
                "it takes images and a grid of as many dimensions, of floats") ||
      !n.demand(n.sizesIn(grid).back() == n.constantSize(rank - 2) && n.agreed(n.sizesIn(grid)[0], n.sizesIn(image)[0]),
                "its grid does not fit its images") ||
      !n.demand(how.mode != GridSampling::Mode::Cubic || rank == 4,
                "cubic interpolation takes images of two dimensions") ||
      !n.demand(rank <= 5, "of more than three dimensions") ||
      !n.demand(llvm::none_of(n.sizesIn(image), [&](AffineExpr size) { return size == n.constantSize(0); }),
                "an image without pixels"))
    return {};
  n.require(n.sizesIn(grid)[0], n.sizesIn(image)[0]);
  Type compute = n.accumulator(element);
  Value positions = n.cast(grid, n.accumulator(n.elementOf(grid)));
  return n.cast(GridReader(n, n.cast(image, compute), positions, how).run(), element);
}

void registerGridSampling(Table &t) {
  t["aten.grid_sampler.default"] = gridSampler;
  t["aten.grid_sampler_2d.default"] = t["aten.grid_sampler_3d.default"] = gridSampler;
  t["aten.affine_grid_generator.default"] = affineGrid;
}

} // namespace tilewright
