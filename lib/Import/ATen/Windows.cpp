//===- Windows.cpp - im2col and col2im of plain exports ---------------------------------===//
//
//   im2col(x [n, c, h, w], [a, b])    returns [n, c a b, l], the elements of all l windows of size a x b
//   col2im                            returns an image in which each pixel is the sum of its copies in the windows
//
// Test: test/Python/test_plain_exports.py, test/Python/test_onnx_references.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Windows.h"
#include "lib/Import/ATen/Table.h"

#include "lib/Import/ATen/Indexing.h"

namespace tilewright {
namespace {

struct WindowShape {
  SmallVector<int64_t> kernel, dilation, padding, stride;

  /// Reads the four arguments from position `first` on, each of which is a list of two numbers.
  static WindowShape read(Node &n, unsigned first) {
    WindowShape w{n.integers(first, "kernel_size"), n.integers(first + 1, "dilation"), n.integers(first + 2, "padding"),
                  n.integers(first + 3, "stride")};
    for (SmallVector<int64_t> *values : {&w.kernel, &w.dilation, &w.padding, &w.stride}) {
      n.demand(values->size() == 2, "it takes windows of two dimensions");
      values->resize(2, 1);
      for (int64_t value : *values)
        n.demand(value >= (values == &w.padding ? 0 : 1) && value < 1 << 20, "a number of its windows is out of range");
    }
    return w;
  }

  FoldedWindows along(unsigned i, AffineExpr size) const {
    return {kernel[i], stride[i], dilation[i], padding[i], padding[i], size};
  }
};

int64_t staticSize(Node &n, AffineExpr size) {
  auto constant = ::mlir::dyn_cast<AffineConstantExpr>(size);
  n.demand(bool(constant), "the size of an image is symbolic");
  return constant ? constant.getValue() : 1;
}

/// Imports im2col(self, kernel_size, dilation, padding, stride).
Results columnsOfImage(Node &n) {
  Value x = n.tensor(0, "self");
  WindowShape w = WindowShape::read(n, 1);
  const bool batched = n.rankOf(x) == 4;
  if (!n.demand(batched || n.rankOf(x) == 3, "it takes images of three dimensions, or a batch"))
    return n.refused();
  if (!batched)
    x = n.unsqueeze(x, 0);
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  SmallVector<int64_t> counts;
  SmallVector<int64_t> edges(4, 0);
  for (unsigned i = 0; i < 2; ++i) {
    counts.push_back(staticSize(n, w.along(i, sizes[i + 2]).count()));
    edges[i + 2] = w.padding[i];
    if (!n.demand(counts.back() > 0, "no window fits"))
      return n.refused();
  }
  for (unsigned i = 0; i < 2; ++i)
    sizes[i + 2] = canonicalSize(sizes[i + 2] + 2 * w.padding[i]);
  if (w.padding[0] || w.padding[1])
    x = n.pad(x, edges, edges);
  // Take windows along the width, which returns [n, c, h, columns, b], then along the height, which returns
  // [n, c, rows, a, columns, b].
  for (int i = 1; i >= 0; --i) {
    AffineExpr count = n.constantSize(counts[i]), width = n.constantSize(w.kernel[i]);
    Value starts = n.op<MulOp>(n.iota({count, n.constantSize(1)}, 0, n.i64()), double(w.stride[i]));
    Value indices = n.op<AddOp>({starts, n.op<MulOp>(n.iota({width}, 0, n.i64()), double(w.dilation[i]))});
    x = take(n, x, {indices}, i + 2);
  }
  return n.reshape(n.permute(x, {0, 1, 3, 5, 2, 4}), n.type());
}

/// Imports col2im(self, output_size, kernel_size, dilation, padding, stride).
Results imageOfColumns(Node &n) {
  Value x = n.tensor(0, "self");
  WindowShape w = WindowShape::read(n, 2);
  const int64_t rank = n.type().getRank();
  if (!n.demand(rank == 3 || rank == 4, "it gives images of three dimensions, or a batch"))
    return n.refused();
  SmallVector<AffineExpr> sizes = sizesOf(n.type());
  SmallVector<FoldedWindows, 3> windows;
  for (unsigned i = 0; i < 2; ++i)
    windows.push_back(w.along(i, sizes[rank - 2 + i]));
  if (rank == 3)
    x = n.unsqueeze(x, 0);
  Value image = imageOfWindows(n, x, windows);
  return n.failed() ? n.refused() : n.reshape(image, n.type());
}

/// Replaces the dimensions `dim` and `dim` + 1 of `x` [.., kernel, count, ..] by one dimension of `w.size` pixels. A
/// pixel is the sum of the elements of all windows that contain it.
Value foldedAlong(Node &n, Value x, int64_t dim, const FoldedWindows &w) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  const AffineExpr count = sizes[dim + 1], kernel = sizes[dim];
  if (w.stride == w.kernel && w.dilation == 1 && w.low == 0 && canonicalSize(count * kernel - w.size) == 0) {
    SmallVector<int64_t> order = allDims(sizes.size()); // the windows neither overlap nor have gaps
    std::swap(order[dim], order[dim + 1]);
    sizes.erase(sizes.begin() + dim);
    sizes[dim] = w.size;
    return n.reshape(n.permute(x, order), sizes);
  }
  // Pixel p is element k of window i if i * stride + k * dilation is p + low.
  Type index = n.i64();
  AffineExpr one = n.constantSize(1);
  Value pixel = n.op<AddOp>(n.iota({w.size, one}, 0, index), double(w.low));
  Value element = n.iota({one, kernel}, 1, index);
  Value from = n.op<SubOp>({pixel, n.op<MulOp>(element, double(w.dilation))});
  Value last = n.op<SubOp>(n.indexScalar(count, index), 1.0), stride = n.scalarInt(w.stride, index);
  Value window = n.op<DivFloorOp>({from, stride}), none = n.scalarInt(0, index);
  Value isOne =
      n.op<LogicalAndOp>({n.compare<EqOp>(n.op<MulOp>({window, stride}), from),
                          n.op<LogicalAndOp>({n.compare<GeOp>(window, none), n.compare<LeOp>(window, last)}, n.i1())},
                         n.i1());
  window = n.op<MaximumOp>({n.op<MinimumOp>({window, last}), none});
  Value at = n.op<AddOp>({n.op<MulOp>({element, n.indexScalar(count, index)}), window});
  SmallVector<AffineExpr> flat = sizes;
  flat.erase(flat.begin() + dim);
  flat[dim] = canonicalSize(kernel * count);
  Value read = take(n, n.reshape(x, flat), {at}, dim, /*wraps=*/false);
  SmallVector<AffineExpr> wide(n.rankOf(read) - dim, one);
  wide[0] = w.size;
  wide[1] = kernel;
  return n.reduce(ReduceKind::Sum, n.where(n.reshape(isOne, wide), read, n.scalar(0, n.elementOf(read))), {dim + 1},
                  false);
}

} // namespace

Value imageOfWindows(Node &n, Value x, ArrayRef<FoldedWindows> windows) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x), split{sizes[0], {}}, counts;
  if (!n.demand(sizes.size() == 3, "it takes columns of three dimensions"))
    return x;
  int64_t elements = 1;
  AffineExpr windowCount = n.constantSize(1);
  for (const FoldedWindows &w : windows) {
    counts.push_back(w.count());
    auto constant = ::mlir::dyn_cast<AffineConstantExpr>(counts.back());
    if (!n.demand(!constant || constant.getValue() > 0, "no window fits"))
      return x;
    elements *= w.kernel;
    windowCount = canonicalSize(windowCount * counts.back());
    split.push_back(n.constantSize(w.kernel));
  }
  n.require(canonicalSize(sizes[1] % elements), n.constantSize(0));
  n.require(sizes[2], windowCount);
  if (n.failed())
    return x;
  split[1] = canonicalSize(sizes[1].floorDiv(elements));
  split.append(counts);
  Type element = n.elementOf(x);
  x = n.reshape(n.cast(x, n.accumulator(element)), split); // the shape is [n, c, kernels.., counts..]
  SmallVector<int64_t> order{0, 1};
  const int64_t rank = windows.size();
  for (int64_t i = 0; i < rank; ++i)
    order.append({2 + i, 2 + rank + i});
  x = n.permute(x, order);
  for (auto [i, w] : llvm::enumerate(windows))
    x = foldedAlong(n, x, 2 + i, w);
  return n.cast(x, element);
}

void registerWindows(Table &t) {
  t["aten.im2col.default"] = columnsOfImage;
  t["aten.col2im.default"] = imageOfColumns;
}

} // namespace tilewright
