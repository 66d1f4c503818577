//===- AdaptivePooling.cpp - pooling with windows of different sizes -------------------------===//
//
// The number of windows is given, and their sizes follow from it. The elements of the windows are read at computed
// indices. All windows are read with the length of the longest window, and the elements after the end of a window are
// replaced by 0 or minus infinity:
//
//   5 elements, 3 windows         elements 0 1 | 1 2 3 | 3 4
//   read with the length 3                 0 1 - | 1 2 3 | 3 4 -
//
// Test: test/Python/ops/test_decomposed.py, test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Pooling.h"
#include "lib/Import/ATen/Table.h"
#include <limits>
#include <numeric>

namespace tilewright {

AdaptiveWindows adaptiveWindows(Node &n, AffineExpr in, AffineExpr out) {
  Type index = n.i64();
  Value size = n.indexScalar(in, index), windows = n.indexScalar(out, index), one = n.scalarInt(1, index);
  Value window = n.iota({out, n.constantSize(1)}, 0, index);
  Value start = n.op<DivFloorOp>({n.op<MulOp>({window, size}), windows});
  Value last = n.op<SubOp>({n.op<MulOp>({n.op<AddOp>({window, one}), size}), one});
  return {start, n.op<AddOp>({n.op<DivFloorOp>({last, windows}), one})};
}

namespace {

/// Returns the length of the longest window. If the size of the dimension is symbolic, returns an upper bound. If the
/// number of windows is symbolic, returns the size of the dimension.
AffineExpr longestWindow(Node &n, AffineExpr in, AffineExpr out) {
  auto inSize = dyn_cast<AffineConstantExpr>(in), outSize = dyn_cast<AffineConstantExpr>(out);
  if (!outSize || outSize.getValue() <= 0)
    return in;
  if (!inSize)
    return canonicalSize(in.floorDiv(out) + 2);
  // A window that begins at the fraction m / out of an element has the length ceil((m + in) / out), which is
  // whole + ceil((m + rest) / out). The largest m is out - gcd(in, out).
  const int64_t whole = inSize.getValue() / outSize.getValue(), rest = inSize.getValue() % outSize.getValue();
  const int64_t more = rest == 0 ? 0 : rest == std::gcd(inSize.getValue(), outSize.getValue()) ? 1 : 2;
  return n.constantSize(whole + more);
}

/// The elements that are read for the windows along one dimension.
struct WindowElements {
  Value position, inside; ///< [out, longest]: index of the element, and whether it is in the window
  AffineExpr longest;
};

WindowElements elementsOf(Node &n, const AdaptiveWindows &windows, AffineExpr longest) {
  Value step = n.iota({n.constantSize(1), longest}, 1, n.i64());
  Value position = n.op<AddOp>({windows.start, step}), inside = n.compare<LtOp>(position, windows.end);
  return {n.where(inside, position, n.broadcast(windows.start, n.sizesIn(position))), inside, longest};
}

/// Returns averages along `dim` over windows of different sizes. A product with a matrix of weights is not used,
/// because it would return NaN for a window if an element outside of the window is infinite.
Value averageUnequal(Node &n, Value x, int64_t dim, AffineExpr out) {
  AffineExpr in = n.sizesIn(x)[dim];
  AdaptiveWindows windows = adaptiveWindows(n, in, out);
  WindowElements elements = elementsOf(n, windows, longestWindow(n, in, out));
  Value values = take(n, x, {elements.position}, dim, /*wraps=*/false);
  auto alongWindows = [&](Value value) { // adds the dimensions of x after `dim`
    SmallVector<AffineExpr> sizes = n.sizesIn(value);
    sizes.append(n.rankOf(x) - 1 - dim, n.constantSize(1));
    return n.reshape(value, sizes);
  };
  values = n.where(alongWindows(elements.inside), values, n.scalar(0, n.elementOf(x)));
  Value sums = n.reduce(ReduceKind::Sum, values, {dim + 1}, true);
  Value lengths = n.cast(alongWindows(n.op<SubOp>({windows.end, windows.start})), n.elementOf(x));
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  sizes[dim] = out;
  return n.reshape(n.op<DivOp>({sums, lengths}), sizes);
}

/// Imports adaptive_avg_poolNd. If the output's size divides the input's size, all windows have the same size. If the
/// output's size is 1, the result is a mean.
template <int64_t spatial> Results adaptiveAvgPool(Node &n) {
  Value x = n.tensor(0, "self");
  if (!n.demand(n.rankOf(x) > spatial && n.type().getRank() == n.rankOf(x), "too few dimensions"))
    return n.refused();
  SmallVector<AffineExpr> in = n.sizesIn(x), out = sizesOf(n.type());
  if (n.isEmpty(n.type()))
    return n.zeros();
  SmallVector<int64_t> dims, kernel;
  bool global = true;
  for (int64_t i = n.rankOf(x) - spatial; i < n.rankOf(x); ++i) {
    dims.push_back(i);
    global &= out[i] == n.constantSize(1);
    auto a = ::mlir::dyn_cast<AffineConstantExpr>(in[i]), b = ::mlir::dyn_cast<AffineConstantExpr>(out[i]);
    kernel.push_back(a && b && b.getValue() && a.getValue() % b.getValue() == 0 ? a.getValue() / b.getValue() : 0);
  }
  if (global) {
    Type compute = n.accumulator(n.element());
    Value sum = n.reduce(ReduceKind::Sum, n.cast(x, compute), dims, true);
    return n.cast(n.op<DivOp>({sum, n.countAlong(x, dims, compute)}), n.element());
  }
  if (llvm::is_contained(kernel, 0)) {
    if (!n.demand(isa<FloatType>(n.element()) && !llvm::is_contained(in, n.constantSize(0)), "an empty input"))
      return n.refused();
    Value result = n.cast(x, n.accumulator(n.element()));
    for (int64_t dim : dims)
      if (in[dim] != out[dim])
        result = averageUnequal(n, result, dim, out[dim]);
    return n.cast(result, n.element());
  }
  return importAs(n, ("aten.avg_pool" + llvm::Twine(spatial) + "d.default").str(),
                  {argumentOf(n, 0, "self"), listOf(kernel), listOf(kernel)});
}

/// Imports adaptive_max_poolNd(self, output_size).
template <int64_t spatial> Results adaptiveMaxPool(Node &n) {
  Value x = n.tensor(0, "self");
  const int64_t lead = n.rankOf(x) - spatial;
  if (!n.demand(n.type(0) && n.type(1) && n.type(0).getRank() == n.rankOf(x) && lead >= 1, "too few dimensions") ||
      !n.demand(isa<FloatType>(n.elementOf(x)), "elements that are not floats"))
    return n.refused();
  if (n.isEmpty(n.type(0)))
    return noMaxima(n);
  const AffineExpr one = n.constantSize(1);
  SmallVector<AffineExpr> in = n.sizesIn(x), out = sizesOf(n.type(0));
  SmallVector<WindowLine> lines;
  SmallVector<Value> positions;
  Value inside;
  for (int64_t i = 0; i < spatial; ++i) {
    const AffineExpr size = in[lead + i], count = out[lead + i];
    if (!n.demand(isa<AffineConstantExpr>(count), "the number of its windows is symbolic; give it as an integer") ||
        !n.demand(rangeOf(size, n.importer.symbols).first >= 1, "a dimension that is empty or may be empty"))
      return n.refused();
    AdaptiveWindows windows = adaptiveWindows(n, size, count);
    WindowElements elements = elementsOf(n, windows, longestWindow(n, size, count));
    SmallVector<AffineExpr> starts(spatial, one), grid(2 * spatial, one);
    starts[i] = grid[i] = count;
    grid[spatial + i] = elements.longest;
    Value here = n.reshape(elements.inside, grid);
    inside = inside ? n.op<LogicalAndOp>({inside, here}, n.i1()) : here;
    positions.push_back(n.reshape(elements.position, grid));
    lines.push_back({n.reshape(windows.start, starts), elements.longest, size});
  }
  Value values = take(n, x, positions, lead, /*wraps=*/false);
  Value lowest = n.scalar(-std::numeric_limits<double>::infinity(), n.elementOf(x));
  return largestOf(n, n.where(inside, values, lowest), lines);
}

} // namespace

void registerAdaptivePooling(Table &t) {
  t["aten.adaptive_avg_pool1d.default"] = adaptiveAvgPool<1>;
  t["aten._adaptive_avg_pool2d.default"] = adaptiveAvgPool<2>;
  t["aten._adaptive_avg_pool3d.default"] = adaptiveAvgPool<3>;
  t["aten.adaptive_max_pool1d.default"] = adaptiveMaxPool<1>;
  t["aten.adaptive_max_pool2d.default"] = adaptiveMaxPool<2>;
  t["aten.adaptive_max_pool3d.default"] = adaptiveMaxPool<3>;
}

} // namespace tilewright
