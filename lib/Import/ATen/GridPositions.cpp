//===- GridPositions.cpp - the pixels around the positions of a grid ---------------------===//
//
// Each coordinate determines a position between pixels. Per dimension, a position is interpolated from the nearest
// pixel only, from 2 pixels (linear interpolation), or from 4 pixels (cubic interpolation). The gradient of
// grid_sample also needs the derivatives of the weights of these pixels, and of the positions. The formulas are those
// of torch (aten/src/ATen/native/GridSamplerUtils.h); cubic interpolation is Keys's (1981).
//
// Test: test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/GridPositions.h"
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Indexing.h"
#include <limits>

namespace tilewright {

using Padding = GridSampling::Padding;

GridPositions::GridPositions(Node &n, Value image, Value grid, const GridSampling &how, bool withSlopes)
    : n(n), how(how), withSlopes(withSlopes), type(n.elementOf(grid)) {
  const int64_t rank = n.rankOf(image), spatial = rank - 2;
  sizes = llvm::to_vector(ArrayRef(n.sizesIn(image)).drop_front(2));
  outputs = n.sizesIn(grid);
  outputs.pop_back();
  SmallVector<AffineExpr> shape = n.sizesIn(image);
  shape[0] = outputs[0]; // the batch sizes are equal, but may be different symbols
  results = outputs;
  results.insert(results.begin() + 1, shape[1]);
  AffineExpr all = n.product(sizes);
  pixels = n.reshape(n.withSizes(image, shape), {outputs[0], shape[1], all});
  positions = n.product(ArrayRef(outputs).drop_front());
  auto known = dyn_cast<AffineConstantExpr>(all);
  const bool isSmall = known && known.getValue() <= std::numeric_limits<int32_t>::max();
  index = isSmall ? IntegerType::get(type.getContext(), 32) : n.i64();
  SmallVector<Value> coordinates; // the grid begins with the coordinate of the last dimension
  for (int64_t k = 0; k < spatial; ++k)
    coordinates.push_back(
        n.reshape(n.sliceDim(grid, rank - 1, n.constantSize(spatial - 1 - k), n.constantSize(1)), outputs));
  for (auto [k, coordinate] : llvm::enumerate(coordinates))
    taps.push_back(tapsOf(coordinate, k));
}

/// Converts a coordinate of dimension `k`, which is in [-1, 1] within the image, to a pixel position.
Value GridPositions::among(Value coordinate, size_t k) {
  Value from = n.op<AddOp>(coordinate, 1.0);
  if (how.alignCorners)
    return n.op<MulOp>({n.op<MulOp>(from, 0.5), last(k)});
  return n.op<MulOp>(n.op<AddOp>(n.op<MulOp>({from, count(k)}), -1.0), 0.5);
}

/// Reflects a position at the centers of the outermost pixels (align_corners) or at their outer edges, until it is
/// inside the image. Multiplies `slope` by the sign of the derivative.
Value GridPositions::reflected(Value position, size_t k, Value *slope) {
  if (how.alignCorners && sizes[k] == n.constantSize(1))
    return n.broadcast(number(0), outputs); // the slope becomes 0 in padded()
  const double low = how.alignCorners ? 0 : -0.5;
  // A symbolic size may be 1. With a span of 1 instead of 0, clipped() then returns the only pixel.
  Value span = how.alignCorners ? last(k) : count(k);
  if (how.alignCorners && !isa<AffineConstantExpr>(sizes[k]))
    span = n.op<MaximumOp>(span, 1.0);
  Value away = n.op<AbsOp>({n.op<AddOp>(position, -low)});
  Value turns = n.op<FloorOp>({n.op<DivOp>({away, span})});
  Value rest = n.op<SubOp>({away, n.op<MulOp>({turns, span})});
  Value half = n.op<MulOp>(turns, 0.5);
  Value even = n.compare<EqOp>(n.op<FloorOp>({half}), half);
  if (slope) {
    Value before = n.compare<LtOp>(position, number(low)), reverse = n.op<NegOp>({*slope});
    *slope = n.where(even, n.where(before, reverse, *slope), n.where(before, *slope, reverse));
  }
  return n.op<AddOp>(n.where(even, rest, n.op<SubOp>({span, rest})), low);
}

/// Moves a position outside the image into the image, unless the padding is zeros. Multiplies `slope` by the
/// derivative.
Value GridPositions::padded(Value position, size_t k, Value *slope) {
  if (how.padding == Padding::Zeros)
    return position;
  if (how.padding == Padding::Reflection)
    position = reflected(position, k, slope);
  if (slope) { // as in torch, the derivative at the outermost positions is 0
    Value inside =
        n.op<LogicalAndOp>({n.compare<LtOp>(number(0), position), n.compare<LtOp>(position, last(k))}, n.i1());
    *slope = n.where(inside, *slope, number(0));
  }
  return clipped(position, k);
}

/// Returns the derivative of cubicWeight() with respect to the distance.
static Value cubicSlope(Node &n, Value distance, bool far) {
  constexpr double a = -0.75;
  const double square = far ? 3 * a : 3 * (a + 2), linear = far ? -10 * a : -2 * (a + 3), constant = far ? 8 * a : 0;
  Value slope = n.op<MulOp>({n.op<AddOp>(n.op<MulOp>(distance, square), linear), distance});
  return far ? n.op<AddOp>(slope, constant) : slope;
}

GridTaps GridPositions::tapsOf(Value coordinate, size_t k) {
  Value position = among(coordinate, k);
  GridTaps found;
  if (how.mode == GridSampling::Mode::Nearest) {
    found.all.push_back({n.op<RoundOp>({padded(position, k)}), {}, {}});
    return found;
  }
  if (withSlopes)
    found.slope = n.op<MulOp>(how.alignCorners ? last(k) : count(k), 0.5);
  if (how.mode == GridSampling::Mode::Linear)
    position = padded(position, k, withSlopes ? &found.slope : nullptr);
  Value low = n.op<FloorOp>({position}), fraction = n.op<SubOp>({position, low});
  Value complement = n.op<SubOp>({number(1), fraction});
  if (how.mode == GridSampling::Mode::Linear) {
    found.all.push_back({low, complement, withSlopes ? number(-1) : Value()});
    found.all.push_back({n.op<AddOp>(low, 1.0), fraction, withSlopes ? number(1) : Value()});
    return found;
  }
  // The position of each tap is padded, instead of `position`.
  Value distances[] = {n.op<AddOp>(fraction, 1.0), fraction, complement, n.op<AddOp>(complement, 1.0)};
  for (int step = -1; step <= 2; ++step) {
    const bool far = step == -1 || step == 2, after = step > 0;
    Value distance = distances[step + 1], weight = cubicWeight(n, distance, far), change;
    if (withSlopes) { // the distance of the taps after the position decreases as the position increases
      change = cubicSlope(n, distance, far);
      change = after ? n.op<NegOp>({change}) : change;
    }
    found.all.push_back({padded(n.op<AddOp>(low, double(step)), k), weight, change});
  }
  return found;
}

GridPixel GridPositions::pixelOf(ArrayRef<GridTap> chosen) {
  GridPixel pixel{chosen, {}, {}, {}};
  for (auto [k, tap] : llvm::enumerate(chosen)) {
    Value here =
        n.op<LogicalAndOp>({n.compare<LeOp>(number(0), tap.position), n.compare<LeOp>(tap.position, last(k))}, n.i1());
    pixel.inside = pixel.inside ? n.op<LogicalAndOp>({pixel.inside, here}, n.i1()) : here;
    Value along = n.cast(n.where(here, tap.position, number(0)), index); // 0 outside the image and for NaN
    pixel.index =
        pixel.index ? n.op<AddOp>({n.op<MulOp>({pixel.index, n.indexScalar(sizes[k], index)}), along}) : along;
    if (tap.weight)
      pixel.weight = pixel.weight ? n.op<MulOp>({pixel.weight, tap.weight}) : tap.weight;
  }
  return pixel;
}

/// Calls `use` for all combinations that begin with the taps `chosen` for the first dimensions.
void GridPositions::combine(SmallVectorImpl<GridTap> &chosen, llvm::function_ref<void(const GridPixel &)> use) {
  if (chosen.size() == taps.size())
    return use(pixelOf(chosen));
  for (const GridTap &tap : taps[chosen.size()].all) {
    chosen.push_back(tap);
    combine(chosen, use);
    chosen.pop_back();
  }
}

void GridPositions::forEachPixel(llvm::function_ref<void(const GridPixel &)> use) {
  SmallVector<GridTap> chosen;
  combine(chosen, use);
}

Value GridPositions::indexOf(const GridPixel &pixel) {
  return n.broadcast(forChannels(pixel.index), {outputs[0], n.sizesIn(pixels)[1], positions});
}

Value GridPositions::read(const GridPixel &pixel) {
  Value found = gatherAlong(n, pixels, indexOf(pixel), 2);
  return n.where(forChannels(pixel.inside), found, n.scalar(0, n.elementOf(pixels)));
}

} // namespace tilewright
