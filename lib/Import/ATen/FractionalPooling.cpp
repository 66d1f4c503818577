//===- FractionalPooling.cpp - maxima in windows at computed positions -----------------------===//
//
// All windows of fractional max pooling have the same size. Their positions depend on one random sample per image,
// channel and dimension:
//
//   alpha = (size - kernel) / (out - 1)
//   start of window i = int((i + sample) * alpha) - int(sample * alpha), and of the last window size - kernel
//
// Test: test/Python/ops/test_decomposed.py, test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Pooling.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

Results largestOf(Node &n, Value values, ArrayRef<WindowLine> lines) {
  const int64_t rank = n.rankOf(values) - int64_t(lines.size());
  SmallVector<AffineExpr> sizes = n.sizesIn(values);
  sizes.truncate(rank);
  AffineExpr count = n.constantSize(1), stride = count;
  for (const WindowLine &line : lines)
    count = canonicalSize(count * line.length);
  sizes.push_back(count);
  values = n.reshape(values, sizes);
  Value largest = n.reduce(ReduceKind::Max, values, {rank}, false);
  Value element = ArgReduceOp::create(n.builder, n.loc, withElementType(n.typeOf(largest), n.i64()), values,
                                      ReduceKind::Max, rank, false);
  Value index;
  for (const WindowLine &line : llvm::reverse(lines)) { // element = (i * length + j) * length + k
    Value step = element;
    if (&line != &lines.front()) {
      Value length = n.indexScalar(line.length, n.i64());
      step = n.op<RemainderOp>({element, length});
      element = n.op<DivFloorOp>({element, length});
    }
    Value along = n.op<AddOp>({line.start, step});
    index = index ? n.op<AddOp>({index, n.op<MulOp>({along, n.indexScalar(stride, n.i64())})}) : along;
    stride = canonicalSize(stride * line.size);
  }
  return {n.reshape(largest, n.type(0)), n.reshape(index, n.type(1))};
}

Results noMaxima(Node &n) { return {n.zeros(0), n.zeros(1)}; }

namespace {

/// Returns rest / gaps, or 0 if there are no gaps.
Value spacing(Node &n, AffineExpr rest, int64_t gaps, Type element) {
  if (gaps <= 0)
    return n.scalar(0, element);
  if (auto known = dyn_cast<AffineConstantExpr>(rest))
    return n.scalar(double(known.getValue()) / double(gaps), element);
  return n.cast(n.op<DivOp>(n.indexScalar(rest, n.f64()), double(gaps)), element);
}

/// Imports fractional_max_poolNd(self, kernel_size, output_size, random_samples).
template <int64_t spatial> Results fractionalMaxPool(Node &n) {
  Value x = n.tensor(0, "self"), samples = n.tensor(3, "random_samples");
  SmallVector<int64_t> kernel = perDim(n, 1, "kernel_size", spatial, {});
  const bool isBatch = n.rankOf(x) == spatial + 2;
  if (!n.demand(isBatch || n.rankOf(x) == spatial + 1, "it takes images with channels, or a batch") ||
      !n.demand(n.type(0) && n.type(1) && n.type(0).getRank() == n.rankOf(x), "its results have another rank") ||
      !n.demand(n.rankOf(samples) == 3, "its samples do not have three dimensions") ||
      !n.demand(isa<FloatType>(n.elementOf(x)) && isa<FloatType>(n.elementOf(samples)), "elements that are not floats"))
    return n.refused();
  if (n.isEmpty(n.type(0)))
    return noMaxima(n);
  Value image = isBatch ? x : n.unsqueeze(x, 0);
  const int64_t rank = 2 + 2 * spatial;
  const AffineExpr one = n.constantSize(1), zero = n.constantSize(0);
  const SmallVector<AffineExpr> in = n.sizesIn(image), out = sizesOf(n.type(0));
  // The batch size of the samples may be larger than that of the images.
  n.require(n.sizesIn(samples)[0], in[0], /*atLeast=*/true);
  n.require(n.sizesIn(samples)[1], in[1]);
  n.require(n.sizesIn(samples)[2], n.constantSize(spatial));
  Type element = n.elementOf(samples), compute = n.accumulator(element), index = n.i64();
  samples = n.slice(samples, {zero, zero, zero}, {1, 1, 1}, {in[0], in[1], n.constantSize(spatial)});
  SmallVector<Value> positions{n.alongDim(n.iota({in[0]}, 0, index), 0, rank),
                               n.alongDim(n.iota({in[1]}, 0, index), 1, rank)};
  SmallVector<WindowLine> lines;
  for (int64_t i = 0; i < spatial; ++i) {
    const AffineExpr size = in[2 + i], count = out[out.size() - spatial + i], length = n.constantSize(kernel[i]);
    const AffineExpr gaps = canonicalSize(count - 1), rest = canonicalSize(size - length);
    auto knownGaps = dyn_cast<AffineConstantExpr>(gaps);
    if (!n.demand(bool(knownGaps), "the number of its windows is symbolic; give it as an integer"))
      return n.refused();
    n.require(rest, gaps, /*atLeast=*/true);
    // The random samples of 2-d pooling are in the order (width, height), and those of 3-d pooling in the order of the
    // dimensions.
    Value sample = n.sliceDim(samples, 2, n.constantSize(spatial == 2 ? 1 - i : i), one);
    Value last = n.indexScalar(rest, index), window = n.iota({count}, 0, index);
    Value alpha = spacing(n, rest, knownGaps.getValue(), compute);
    auto scaled = [&](Value value) { // the integer part of value * alpha, where the product is rounded to `element`
      return n.convert(n.cast(n.op<MulOp>({n.cast(value, compute), alpha}), element), index);
    };
    Value start = n.op<SubOp>({scaled(n.op<AddOp>({n.cast(window, element), sample})), scaled(sample)});
    start = n.where(n.compare<EqOp>(window, n.indexScalar(gaps, index)), last, start);
    SmallVector<AffineExpr> starts(rank, one);
    starts[0] = in[0];
    starts[1] = in[1];
    starts[2 + i] = count;
    Value step = n.alongDim(n.iota({length}, 0, index), 2 + spatial + i, rank);
    positions.push_back(n.op<AddOp>({n.reshape(start, starts), step}));
    starts.truncate(2 + spatial);
    lines.push_back({n.reshape(start, starts), length, size});
  }
  if (n.failed())
    return n.refused();
  return largestOf(n, take(n, image, positions, 0, /*wraps=*/false), lines);
}

} // namespace

void registerFractionalPooling(Table &t) {
  t["aten.fractional_max_pool2d.default"] = fractionalMaxPool<2>;
  t["aten.fractional_max_pool3d.default"] = fractionalMaxPool<3>;
}

} // namespace tilewright
