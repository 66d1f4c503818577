//===- Interpolation.cpp - image resizing -----------------------------------------------===//
//
// This file imports upsample_{nearest,nearest_exact,linear,bilinear,trilinear,bicubic}. One dimension is resized at a
// time: up to four rows are read, multiplied by weights, and added. Positions and weights are computed at run time from
// the index of the result's element, so sizes may be symbolic. As in eager (ATen/native/UpSample.h), positions and
// weights are in f32:
//
//   position = scale * (i + 0.5) - 0.5          align_corners: scale * i
//   nearest: x[floor(scale * i)]                nearest_exact: x[floor(scale * (i + 0.5))]
//   linear : x[low] * (1 - t) + x[low + 1] * t  p = max(position, 0), low = floor(p), t = p - low
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

Value cubicWeight(Node &n, Value distance, bool far) {
  constexpr double a = -0.75;
  auto horner = [&](ArrayRef<double> factors) {
    Value sum = n.op<MulOp>(distance, factors[0]);
    for (double factor : factors.drop_front().drop_back())
      sum = n.op<MulOp>({n.op<AddOp>(sum, factor), distance});
    return n.op<AddOp>(sum, factors.back());
  };
  return far ? horner({a, -5 * a, 8 * a, -4 * a}) : horner({a + 2, -(a + 3), 0, 1});
}

namespace {

enum class Mode { Nearest, NearestExact, Linear, Cubic };

/// A dimension that is resized from `from` to `to` elements.
struct Resized {
  int64_t dim;
  AffineExpr from, to;
  std::optional<double> factor; ///< specified by the user; replaces the ratio of sizes unless alignCorners is true
  bool alignCorners;
};

Value inF32(Node &n, AffineExpr size) { return n.indexScalar(size, n.f32()); }

/// Returns the distance between adjacent elements of the result, in elements of the input.
Value scaleOf(Node &n, const Resized &r) {
  Value one = n.scalar(1, n.f32());
  if (r.alignCorners) {
    if (r.to == n.constantSize(1))
      return n.scalar(0, n.f32());
    return n.op<DivOp>({n.op<SubOp>({inF32(n, r.from), one}), n.op<SubOp>({inF32(n, r.to), one})});
  }
  if (r.factor)
    return n.scalar(double(float(1.0 / *r.factor)), n.f32());
  return n.op<DivOp>({inF32(n, r.from), inF32(n, r.to)});
}

/// Takes the rows of `x` at `position` + `step`, clamped to the first and last row.
Value rowsAt(Node &n, Value x, const Resized &r, Value position, int64_t step) {
  Value index = n.cast(position, n.i64());
  if (step)
    index = n.op<AddOp>({index, n.scalarInt(step, n.i64())});
  index = n.op<MinimumOp>({index, n.indexScalar(canonicalSize(r.from - 1), n.i64())});
  index = n.op<MaximumOp>({index, n.scalarInt(0, n.i64())});
  return take(n, x, {index}, r.dim);
}

Value resize(Node &n, Value x, const Resized &r, Mode mode) {
  Value number = n.iota({r.to}, 0, n.f32()), scale = scaleOf(n, r);
  if (mode == Mode::Nearest || mode == Mode::NearestExact) {
    Value middle = mode == Mode::NearestExact ? n.op<AddOp>(number, 0.5) : number;
    return rowsAt(n, x, r, n.op<FloorOp>({n.op<MulOp>({middle, scale})}), 0);
  }
  Value position =
      r.alignCorners ? n.op<MulOp>({number, scale}) : n.op<AddOp>(n.op<MulOp>({n.op<AddOp>(number, 0.5), scale}), -0.5);
  if (mode == Mode::Linear && !r.alignCorners)
    position = n.op<MaximumOp>(position, 0.0);
  Value low = n.op<FloorOp>({position}), fraction = n.op<SubOp>({position, low});
  Value complement = n.op<SubOp>({n.scalar(1, n.f32()), fraction});
  auto part = [&](int64_t step, Value weight) {
    return n.op<MulOp>({rowsAt(n, x, r, low, step), n.cast(n.alongDim(weight, r.dim, n.rankOf(x)), n.elementOf(x))});
  };
  if (mode == Mode::Linear)
    return n.op<AddOp>({part(0, complement), part(1, fraction)});
  Value near = n.op<AddOp>({part(0, cubicWeight(n, fraction, false)), part(1, cubicWeight(n, complement, false))});
  Value far = n.op<AddOp>({part(-1, cubicWeight(n, n.op<AddOp>(fraction, 1.0), true)),
                           part(2, cubicWeight(n, n.op<AddOp>(complement, 1.0), true))});
  return n.op<AddOp>({near, far});
}

/// Returns the numbers in an argument that may be a list, a number, or missing.
SmallVector<double> numbersIn(Node &n, const Arg *arg) {
  SmallVector<double> numbers;
  auto add = [&](const Arg &one) {
    if (const auto *number = std::get_if<double>(&one))
      numbers.push_back(*number);
    else if (const auto *integer = std::get_if<int64_t>(&one))
      numbers.push_back(double(*integer));
    else
      n.refuse("a factor is not a number");
  };
  if (!arg || std::holds_alternative<std::monostate>(*arg))
    return numbers;
  if (const auto *list = std::get_if<ArgList>(arg))
    for (const Arg &one : *list)
      add(one);
  else
    add(*arg);
  return numbers;
}

/// Imports an operator with the arguments (input, output_size, [align_corners], scale_factors). The overloads named
/// "default" have one argument per dimension instead of scale_factors: `scales` for one dimension, otherwise scales_d,
/// scales_h and scales_w.
template <Mode mode, int64_t spatial> Results upsample(Node &n) {
  Value x = n.tensor(0, "input");
  constexpr bool corners = mode == Mode::Linear || mode == Mode::Cubic;
  bool align = corners && n.flag(2, "align_corners");
  SmallVector<double> factors = numbersIn(n, n.find(2 + corners, "scale_factors"));
  static constexpr llvm::StringLiteral names[] = {"scales_d", "scales_h", "scales_w", "scales"};
  if (factors.empty())
    for (int64_t i = 0; i < spatial; ++i)
      for (double factor : numbersIn(n, n.find(2 + corners + i, names[spatial == 1 ? 3 : 3 - spatial + i])))
        factors.push_back(factor);
  if (!n.demand(n.rankOf(x) == spatial + 2 && n.type().getRank() == spatial + 2, "it takes a batch of images") ||
      !n.demand(factors.empty() || factors.size() == size_t(spatial), "there is not one factor per dimension") ||
      !n.demand(llvm::all_of(factors, [](double f) { return f > 1e-6 && f < 1e6; }), "a factor is out of range") ||
      !n.demand(isa<FloatType>(n.element()) || !corners, "interpolation between integers"))
    return n.refused();
  Value result = corners ? n.cast(x, n.accumulator(n.element())) : x;
  for (int64_t i = 0; i < spatial; ++i) {
    Resized r{i + 2, n.sizesIn(x)[i + 2], sizesOf(n.type())[i + 2], std::nullopt, align};
    if (!factors.empty())
      r.factor = factors[i];
    if (!n.demand(r.from != n.constantSize(0), "a dimension without elements"))
      return n.refused();
    if (r.from != r.to || (r.factor && *r.factor != 1 && !align))
      result = resize(n, result, r, mode);
  }
  return n.cast(result, n.element());
}

} // namespace

void registerInterpolation(Table &t) {
  auto both = [&](llvm::StringRef name, Importing import) {
    for (llvm::StringRef overload : {"default", "vec"})
      t[("aten." + name + "." + overload).str()] = import;
  };
  both("upsample_nearest1d", upsample<Mode::Nearest, 1>);
  both("upsample_nearest2d", upsample<Mode::Nearest, 2>);
  both("upsample_nearest3d", upsample<Mode::Nearest, 3>);
  both("_upsample_nearest_exact1d", upsample<Mode::NearestExact, 1>);
  both("_upsample_nearest_exact2d", upsample<Mode::NearestExact, 2>);
  both("_upsample_nearest_exact3d", upsample<Mode::NearestExact, 3>);
  both("upsample_linear1d", upsample<Mode::Linear, 1>);
  both("upsample_bilinear2d", upsample<Mode::Linear, 2>);
  both("upsample_trilinear3d", upsample<Mode::Linear, 3>);
  both("upsample_bicubic2d", upsample<Mode::Cubic, 2>);
}

} // namespace tilewright
