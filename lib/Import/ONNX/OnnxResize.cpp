//===- OnnxResize.cpp - image resizing -------------------------------------------------===//
//
// Each axis is resized in a separate step. If the sizes of an axis are constant, positions and weights are computed at
// compile time. The result then consists of rows of the input (mode nearest), or it is a weighted sum of a few rows or,
// for many rows (antialias), a product with a matrix of weights. For symbolic sizes, ops compute positions and weights
// in each call.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/GridSampling.h"
#include "lib/Import/ONNX/OnnxSizes.h"
#include "lib/Import/ONNX/OnnxTable.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace tilewright {
namespace {

struct ResizeMode {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool antialias = false, excludeOutside = false;
};

/// An axis that is resized from `size` to `count` elements.
struct ResizedAxis {
  int64_t dim = 0, size = 0, count = 0;
  double scale = 1, start = 0, end = 1; ///< start and end: of the region of interest
};

/// Returns the position in the input that corresponds to element `y` of the result.
double sourceCoordinate(const ResizeMode &m, const ResizedAxis &a, double y) {
  double length = a.scale * double(a.size), last = double(a.size) - 1;
  if (m.coordinates == "align_corners")
    return length == 1 ? 0 : y * last / (length - 1);
  if (m.coordinates == "asymmetric")
    return y / a.scale;
  if (m.coordinates == "tf_crop_and_resize")
    return a.start * last + (length == 1 ? (a.end - a.start) * last / 2 : y * (a.end - a.start) * last / (length - 1));
  if (m.coordinates == "pytorch_half_pixel" && length == 1)
    return -0.5;
  double coordinate = (y + 0.5) / a.scale - 0.5;
  if (m.coordinates == "half_pixel_symmetric") // aligns the centers of input and result
    coordinate += double(a.size) / 2 * (1 - double(a.count) / length);
  return coordinate;
}

double cubicAt(double x, double a) {
  x = std::fabs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Returns the weights of the elements around a position. The distance of the position from the element to its left is
/// `ratio`, in (0, 1]. The number of elements depends on the mode and, with antialias, on the scale.
SmallVector<double> weightsOf(const ResizeMode &m, double ratio, double scale) {
  bool cubic = m.mode == "cubic";
  double reach = cubic ? 2 : 1, narrow = m.antialias ? std::min(scale, 1.0) : 1;
  int64_t first = int64_t(std::floor(-reach / narrow)) + 1, last = 2 - first;
  SmallVector<double> weights;
  double sum = 0;
  for (int64_t i = first; i < last; ++i) {
    double distance = (double(i) - ratio) * narrow;
    double weight = cubic ? cubicAt(distance, m.cubic) : std::clamp(1 - std::fabs(distance), 0.0, 1.0);
    weights.push_back(weight);
    sum += weight;
  }
  if (m.antialias)
    for (double &weight : weights)
      weight /= sum;
  return weights;
}

int64_t nearestOf(const ResizeMode &m, double coordinate) {
  double low = std::floor(coordinate), ratio = coordinate - low;
  if (ratio == 0)
    return int64_t(low);
  bool up = m.nearest == "round_prefer_floor"  ? ratio > 0.5
            : m.nearest == "round_prefer_ceil" ? ratio >= 0.5
                                               : m.nearest == "ceil";
  return int64_t(low) + up;
}

Value resizeAxis(OnnxNode &n, Value x, const ResizeMode &m, const ResizedAxis &a) {
  if (!n.demand(a.count > 0 && a.count < (1 << 20) && a.size > 0, "an axis is too large, or empty"))
    return x;
  SmallVector<SmallVector<int64_t>> indices; ///< per tap
  SmallVector<SmallVector<double>> weights;
  SmallVector<int64_t> outside;
  for (int64_t y = 0; y < a.count; ++y) {
    double coordinate = sourceCoordinate(m, a, double(y));
    outside.push_back(m.coordinates == "tf_crop_and_resize" && (coordinate < 0 || coordinate > double(a.size) - 1));
    int64_t low = int64_t(std::floor(coordinate));
    SmallVector<double> row = {1.0};
    int64_t first = nearestOf(m, coordinate);
    if (m.mode != "nearest") {
      double ratio = coordinate == double(low) ? 1 : coordinate - double(low);
      row = weightsOf(m, ratio, a.scale);
      int64_t count = row.size();
      if (count % 2 == 0)
        first = low - count / 2 + (coordinate != double(low));
      else
        first = low - (count - 1) / 2 + (coordinate - double(low) > 0.5);
    }
    if (m.excludeOutside) {
      double sum = 0;
      for (auto [i, weight] : llvm::enumerate(row)) {
        int64_t at = first + int64_t(i);
        weight = at < 0 || at >= a.size ? 0 : weight;
        sum += weight;
      }
      for (double &weight : row)
        weight /= sum == 0 ? 1 : sum;
    }
    if (!n.demand(row.size() <= 4096, "it shrinks too much for antialias"))
      return x;
    indices.resize(row.size());
    weights.resize(row.size());
    for (auto [i, weight] : llvm::enumerate(row)) {
      indices[i].push_back(std::clamp<int64_t>(first + int64_t(i), 0, a.size - 1));
      weights[i].push_back(weight);
    }
  }
  Type element = n.elementOf(x);
  int64_t rank = n.rankOf(x);
  Value result;
  if (m.mode == "nearest") {
    result = n.take(x, n.vector(indices[0], n.i64()), a.dim);
  } else if (indices.size() <= 4) {
    for (auto [at, weight] : llvm::zip_equal(indices, weights)) {
      Value part = n.take(x, n.vector(at, n.i64()), a.dim);
      part = n.op<MulOp>({part, n.alongDim(n.vector(weight, element), a.dim, rank)});
      result = result ? n.op<AddOp>({result, part}) : part;
    }
  } else {
    SmallVector<double> matrix(a.size * a.count, 0.0);
    for (size_t tap = 0; tap < indices.size(); ++tap)
      for (int64_t y = 0; y < a.count; ++y)
        matrix[indices[tap][y] * a.count + y] += weights[tap][y];
    Value table = n.reshape(n.vector(matrix, element), {n.constantSize(a.size), n.constantSize(a.count)});
    Value last = n.transpose(x, a.dim, rank - 1);
    SmallVector<AffineExpr> sizes = n.sizesIn(last);
    AffineExpr rows = n.constantSize(1);
    for (AffineExpr size : ArrayRef(sizes).drop_back())
      rows = rows * size;
    Value product = n.matmul(n.reshape(last, {canonicalSize(rows), sizes.back()}), table);
    sizes.back() = n.constantSize(a.count);
    result = n.transpose(n.reshape(product, sizes), a.dim, rank - 1);
  }
  if (llvm::is_contained(outside, 1)) {
    Value mask = n.alongDim(n.cast(n.vector(outside, n.i64()), n.i1()), a.dim, rank);
    result = n.where(mask, n.scalar(m.extrapolation, element), result);
  }
  return result;
}

/// An axis with symbolic sizes. Its positions and weights are computed in each call, in f64.
struct SymbolicAxis {
  int64_t dim = 0;
  AffineExpr size, count;
  std::optional<double> scale; ///< nullopt: count / size
};

class SymbolicResize {
public:
  SymbolicResize(OnnxNode &n, const ResizeMode &m, const SymbolicAxis &a)
      : n(n), m(m), a(a), size(n.indexScalar(a.size, n.f64())), count(n.indexScalar(a.count, n.f64())),
        scale(a.scale ? number(*a.scale) : n.op<DivOp>({count, size})), length(n.op<MulOp>({scale, size})) {}

  Value run(Value x) {
    if (!n.demand(!m.antialias && !m.excludeOutside && m.coordinates != "tf_crop_and_resize",
                  "antialias, exclude_outside and tf_crop_and_resize along a symbolic size are not supported"))
      return x;
    n.require(a.count, n.constantSize(1), /*atLeast=*/true);
    n.require(a.size, n.constantSize(1), /*atLeast=*/true);
    Value coordinate = sourceCoordinates(n.cast(n.iota({a.count}, 0, n.i64()), n.f64()));
    Value low = n.op<FloorOp>({coordinate}), ratio = n.op<SubOp>({coordinate, low});
    if (m.mode == "nearest")
      return rowsAt(x, n.op<AddOp>({low, roundUp(ratio)}));
    Value result;
    const bool cubic = m.mode == "cubic";
    for (int64_t tap = cubic ? -1 : 0; tap <= (cubic ? 2 : 1); ++tap) {
      Value distance = n.op<AbsOp>({n.op<SubOp>({number(double(tap)), ratio})});
      Value weight = cubic ? cubicWeight(distance, tap) : n.op<SubOp>({number(1), distance});
      Value part = rowsAt(x, n.op<AddOp>({low, number(double(tap))}));
      Value column = n.alongDim(n.cast(weight, n.elementOf(x)), a.dim, n.rankOf(x));
      part = n.op<MulOp>({part, column});
      result = result ? n.op<AddOp>({result, part}) : part;
    }
    return result;
  }

private:
  Value number(double value) { return n.scalar(value, n.f64()); }

  Value sourceCoordinates(Value y) {
    Value isOne = n.compare<EqOp>(length, number(1));
    if (m.coordinates == "align_corners") {
      Value steps = n.where(isOne, number(1), n.op<SubOp>({length, number(1)}));
      Value coordinate = n.op<DivOp>({n.op<MulOp>({y, n.op<SubOp>({size, number(1)})}), steps});
      return n.where(isOne, number(0), coordinate);
    }
    if (m.coordinates == "asymmetric")
      return n.op<DivOp>({y, scale});
    Value coordinate = n.op<SubOp>({n.op<DivOp>({n.op<AddOp>({y, number(0.5)}), scale}), number(0.5)});
    if (m.coordinates == "pytorch_half_pixel")
      return n.where(isOne, number(-0.5), coordinate);
    if (m.coordinates == "half_pixel_symmetric") {
      Value lost = n.op<SubOp>({number(1), n.op<DivOp>({count, length})});
      coordinate = n.op<AddOp>({coordinate, n.op<MulOp>({n.op<MulOp>({size, number(0.5)}), lost})});
    }
    return coordinate;
  }

  /// Returns 1 if the nearest element is the one to the right of the position, and 0 if it is the one to the left.
  Value roundUp(Value ratio) {
    Value up = m.nearest == "round_prefer_floor"  ? n.compare<GtOp>(ratio, number(0.5))
               : m.nearest == "round_prefer_ceil" ? n.compare<GeOp>(ratio, number(0.5))
               : m.nearest == "ceil"              ? n.compare<GtOp>(ratio, number(0))
                                                  : n.compare<GtOp>(ratio, number(2));
    return n.cast(up, n.f64());
  }

  /// Returns the weight of an element in cubic interpolation. `tap` is the index of the element relative to the element
  /// on the left of the position, and `d` is its distance from the position. The distance is at most 1 for the taps 0
  /// and 1, and between 1 and 2 for other taps.
  Value cubicWeight(Value d, int64_t tap) {
    const double c = m.cubic;
    auto times = [&](Value value, double by) { return n.op<MulOp>({value, number(by)}); };
    auto plus = [&](Value value, double what) { return n.op<AddOp>({value, number(what)}); };
    if (tap == 0 || tap == 1) { // ((c + 2) d - (c + 3)) d d + 1
      Value inner = plus(times(d, c + 2), -(c + 3));
      return plus(n.op<MulOp>({n.op<MulOp>({inner, d}), d}), 1);
    }
    Value inner = plus(times(d, c), -5 * c); // ((c d - 5 c) d + 8 c) d - 4 c
    inner = plus(n.op<MulOp>({inner, d}), 8 * c);
    return plus(n.op<MulOp>({inner, d}), -4 * c);
  }

  Value rowsAt(Value x, Value coordinate) {
    Value last = n.op<SubOp>({size, number(1)});
    Value inside = n.op<MinimumOp>({n.op<MaximumOp>({coordinate, number(0)}), last});
    return n.take(x, n.cast(inside, n.i64()), a.dim);
  }

  OnnxNode &n;
  const ResizeMode &m;
  const SymbolicAxis &a;
  Value size, count, scale, length; ///< 0-d, f64
};

Results resizeAll(OnnxNode &n, Value x, const ResizeMode &m, ArrayRef<ResizedAxis> axes,
                  ArrayRef<SymbolicAxis> symbolic = {}) {
  Type element = n.elementOf(x);
  if (m.mode != "nearest" && m.mode != "linear" && m.mode != "cubic")
    return n.refuse("its mode '" + m.mode + "' is not supported");
  if (m.mode != "nearest" && !isa<FloatType>(element))
    return n.refuse("interpolation of integers is not supported");
  static constexpr llvm::StringLiteral known[] = {"align_corners",        "asymmetric",         "half_pixel",
                                                  "half_pixel_symmetric", "pytorch_half_pixel", "tf_crop_and_resize"};
  if (!llvm::is_contained(known, llvm::StringRef(m.coordinates)))
    return n.refuse("its coordinate_transformation_mode '" + m.coordinates + "' is not supported");
  Type compute = m.mode == "nearest" ? element : n.accumulator(element);
  Value result = n.cast(x, compute);
  for (const ResizedAxis &axis : axes)
    if (!n.failed())
      result = resizeAxis(n, result, m, axis);
  for (const SymbolicAxis &axis : symbolic)
    if (!n.failed())
      result = SymbolicResize(n, m, axis).run(result);
  return n.failed() ? n.refused() : Results(n.cast(result, element));
}

/// Returns the axis with a result of floor(scale * size) elements. Refuses the node unless the scale, which is an f32
/// number, is a fraction with a small denominator. Only then is the size an affine expression.
std::optional<SymbolicAxis> symbolicAxis(OnnxNode &n, int64_t dim, AffineExpr size, double scale) {
  for (int64_t under = 1; under <= 64; ++under) {
    const double over = std::round(scale * double(under));
    if (over >= 1 && float(over / double(under)) == float(scale))
      return SymbolicAxis{dim, size, canonicalSize((size * int64_t(over)).floorDiv(under)), over / double(under)};
  }
  n.refuse("its scale along a symbolic size is not a fraction of small numbers");
  return std::nullopt;
}

Results resize(OnnxNode &n) {
  Value x = n.in(0);
  bool first = n.version < 11; // in operator set 10, Resize has only the inputs X and scales
  ResizeMode m;
  m.mode = n.text("mode", "nearest");
  m.coordinates = first ? "asymmetric" : n.text("coordinate_transformation_mode", "half_pixel");
  m.nearest = first ? "floor" : n.text("nearest_mode", "round_prefer_floor");
  m.cubic = n.number("cubic_coeff_a", -0.75);
  m.extrapolation = n.number("extrapolation_value", 0.0);
  m.antialias = n.integer("antialias", 0);
  m.excludeOutside = n.integer("exclude_outside", 0);
  std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  unsigned scalesAt = first ? 1 : 2;
  int64_t rank = n.rankOf(x);
  SmallVector<int64_t> axes;
  for (int64_t axis : n.integers("axes"))
    axes.push_back(n.axis(axis, rank));
  if (axes.empty())
    axes = allDims(rank);
  SmallVector<double> scales, region;
  SmallVector<AffineExpr> sizes;
  bool bySize = !first && n.given(3);
  if (bySize)
    sizes = n.sizesFrom(3, "sizes");
  else
    scales = n.numbersIn(scalesAt, "scales");
  if (m.coordinates == "tf_crop_and_resize")
    region = n.numbersIn(1, "roi");
  if (!n.demand(bySize ? sizes.size() == axes.size() : scales.size() == axes.size(),
                "it needs one scale or size per axis") ||
      !n.demand(region.empty() || region.size() == 2 * axes.size(), "its roi does not fit its axes"))
    return n.refused();
  SmallVector<ResizedAxis> resized;
  SmallVector<SymbolicAxis> symbolic;
  for (auto [i, dim] : llvm::enumerate(axes)) {
    bool whole = region.empty() || (region[i] == 0 && region[i + axes.size()] == 1);
    if (whole && policy == "stretch" && (bySize ? sizes[i] == n.sizesIn(x)[dim] : scales[i] == 1))
      continue; // the axis does not change, and its size may be symbolic
    ResizedAxis a;
    a.dim = dim;
    if (!bySize && !n.demand(scales[i] > 0 && scales[i] < 1e6, "a scale is out of range"))
      return n.refused();
    if (AffineExpr size = n.sizesIn(x)[dim]; !isa<AffineConstantExpr>(size) || (bySize && !knownSize(sizes[i]))) {
      auto made = bySize ? std::optional(SymbolicAxis{dim, size, sizes[i], std::nullopt})
                         : symbolicAxis(n, dim, size, scales[i]);
      if (!n.demand(policy == "stretch", "keep_aspect_ratio_policy with symbolic sizes is not supported") || !made)
        return n.refused();
      symbolic.push_back(*made);
      continue;
    }
    a.size = n.staticSize(x, dim);
    auto wanted = bySize ? dyn_cast<AffineConstantExpr>(sizes[i]) : AffineConstantExpr();
    if (n.failed() || !n.demand(!bySize || (wanted && wanted.getValue() > 0), "a requested size is symbolic or 0") ||
        !n.demand(bySize || (scales[i] > 0 && scales[i] < 1e6), "a scale is out of range"))
      return n.refused();
    a.scale = bySize ? double(wanted.getValue()) / double(a.size) : scales[i];
    a.count = bySize ? wanted.getValue() : int64_t(std::floor(scales[i] * double(a.size)));
    if (!region.empty()) {
      a.start = region[i];
      a.end = region[i + axes.size()];
    }
    resized.push_back(a);
  }
  if (bySize && policy != "stretch" && !resized.empty()) {
    double scale = resized[0].scale;
    for (const ResizedAxis &a : resized)
      scale = policy == "not_larger" ? std::min(scale, a.scale) : std::max(scale, a.scale);
    if (policy != "not_larger" && policy != "not_smaller")
      return n.refuse("its keep_aspect_ratio_policy '" + policy + "' is not supported");
    for (ResizedAxis &a : resized) {
      a.scale = scale;
      a.count = std::llround(scale * double(a.size));
    }
  }
  return resizeAll(n, x, m, resized, symbolic);
}

Results upsample(OnnxNode &n) {
  Value x = n.in(0);
  ResizeMode m;
  m.mode = n.text("mode", "nearest");
  m.coordinates = "asymmetric";
  m.nearest = "floor";
  if (m.mode == "bilinear" || m.mode == "trilinear")
    m.mode = "linear";
  SmallVector<double> scales = n.version < 9 ? n.numbers("scales") : n.numbersIn(1, "scales");
  if (!n.demand(int64_t(scales.size()) == n.rankOf(x), "it needs one scale per dimension"))
    return n.refused();
  SmallVector<ResizedAxis> resized;
  SmallVector<SymbolicAxis> symbolic;
  for (auto [dim, scale] : llvm::enumerate(scales)) {
    if (scale == 1)
      continue;
    if (!n.demand(scale >= 1 && scale < 1e6, "a scale is out of range"))
      return n.refused();
    if (AffineExpr size = n.sizesIn(x)[dim]; !knownSize(size)) {
      auto made = symbolicAxis(n, int64_t(dim), size, scale);
      if (!made)
        return n.refused();
      symbolic.push_back(*made);
      continue;
    }
    int64_t size = n.staticSize(x, dim);
    resized.push_back({int64_t(dim), size, int64_t(std::floor(scale * double(size))), scale});
  }
  return n.failed() ? n.refused() : resizeAll(n, x, m, resized, symbolic);
}

/// Imports GridSample(X, grid).
Results sampleByGrid(OnnxNode &n) {
  Value x = n.in(0), grid = n.in(1);
  std::string mode = n.text("mode", n.version < 20 ? "bilinear" : "linear"), padding = n.text("padding_mode", "zeros");
  using How = GridSampling;
  auto modeOf = llvm::StringSwitch<std::optional<How::Mode>>(mode)
                    .Cases({"bilinear", "linear"}, How::Mode::Linear)
                    .Cases({"bicubic", "cubic"}, How::Mode::Cubic)
                    .Case("nearest", How::Mode::Nearest)
                    .Default(std::nullopt);
  auto paddingOf = llvm::StringSwitch<std::optional<How::Padding>>(padding)
                       .Case("zeros", How::Padding::Zeros)
                       .Case("border", How::Padding::Border)
                       .Case("reflection", How::Padding::Reflection)
                       .Default(std::nullopt);
  if (!n.demand(modeOf && paddingOf, "its mode '" + mode + "' or padding_mode '" + padding + "' is not supported"))
    return n.refused();
  Value result = sampleGrid(n, x, grid, {*modeOf, *paddingOf, n.integer("align_corners", 0) != 0});
  return n.failed() ? n.refused() : Results(result);
}

} // namespace

void registerOnnxResize(OnnxTable &t) {
  t["Resize"] = resize;
  t["GridSample"] = sampleByGrid;
  t["Upsample"] = upsample;
}

} // namespace tilewright
