//===- Windows.cpp - windows of images as columns, of plain exports ---------------------===//
//
//   im2col(x [n, c, h, w], [a, b])    -> [n, c a b, l]: all windows of a x b, one after the other
//   col2im                            back, where windows do not overlap
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Indexing.h"

namespace tilewright {
namespace {

struct WindowShape {
  SmallVector<int64_t> kernel, dilation, padding, stride;

  /// From four arguments, of two numbers each.
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

  int64_t count(int64_t size, unsigned i) const {
    return (size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  }
};

int64_t staticSize(Node &n, AffineExpr size) {
  auto constant = ::mlir::dyn_cast<AffineConstantExpr>(size);
  n.demand(bool(constant), "the size of an image is symbolic");
  return constant ? constant.getValue() : 1;
}

/// im2col(self, kernel_size, dilation, padding, stride)
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
    counts.push_back(w.count(staticSize(n, sizes[i + 2]), i));
    edges[i + 2] = w.padding[i];
    if (!n.demand(counts.back() > 0, "no window fits"))
      return n.refused();
  }
  for (unsigned i = 0; i < 2; ++i)
    sizes[i + 2] = canonicalSize(sizes[i + 2] + 2 * w.padding[i]);
  if (w.padding[0] || w.padding[1]) {
    Type element = n.elementOf(x);
    TypedAttr zero = isa<FloatType>(element) ? TypedAttr(n.builder.getFloatAttr(element, 0.0))
                                             : TypedAttr(n.builder.getIntegerAttr(element, 0));
    x = PadOp::create(n.builder, n.loc, tensorWithSizes(sizes, element), x, n.builder.getDenseI64ArrayAttr(edges),
                      n.builder.getDenseI64ArrayAttr(edges), zero);
  }
  // The width first: [n, c, h, columns, b], then [n, c, rows, a, columns, b].
  for (int i = 1; i >= 0; --i) {
    AffineExpr count = n.constantSize(counts[i]), width = n.constantSize(w.kernel[i]);
    Value starts = n.op<MulOp>(n.iota({count, n.constantSize(1)}, 0, n.i64()), double(w.stride[i]));
    Value places = n.op<AddOp>({starts, n.op<MulOp>(n.iota({width}, 0, n.i64()), double(w.dilation[i]))});
    x = take(n, x, {places}, i + 2);
  }
  return n.reshape(n.permute(x, {0, 1, 3, 5, 2, 4}), n.type());
}

/// col2im(self, output_size, kernel_size, dilation, padding, stride)
Results imageOfColumns(Node &n) {
  Value x = n.tensor(0, "self");
  WindowShape w = WindowShape::read(n, 2);
  const int64_t rank = n.type().getRank();
  if (!n.demand(rank == 3 || rank == 4, "it gives images of three dimensions, or a batch"))
    return n.refused();
  SmallVector<AffineExpr> sizes = sizesOf(n.type()), apart;
  if (rank == 3)
    sizes.insert(sizes.begin(), n.constantSize(1));
  apart = {sizes[0], sizes[1], n.constantSize(w.kernel[0]), n.constantSize(w.kernel[1])};
  for (unsigned i = 0; i < 2; ++i) {
    if (!n.demand(w.stride[i] == w.kernel[i] && w.dilation[i] == 1 && w.padding[i] == 0 &&
                      staticSize(n, sizes[i + 2]) % w.kernel[i] == 0,
                  "windows that overlap or leave gaps are taken apart by tilewright.export alone"))
      return n.refused();
    apart.push_back(n.constantSize(w.count(staticSize(n, sizes[i + 2]), i)));
  }
  return n.reshape(n.permute(n.reshape(x, apart), {0, 1, 4, 2, 5, 3}), n.type());
}

} // namespace

void registerWindows(Table &t) {
  t["aten.im2col.default"] = columnsOfImage;
  t["aten.col2im.default"] = imageOfColumns;
}

} // namespace tilewright
