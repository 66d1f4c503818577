//===- Slices.cpp - reads and writes of parts of a tensor ---------------------------===//
//
// torch clamps the bounds of a slice. The number of elements of the slice is known from the result's type, and the
// offset is derived from the start:
//
//   start >= 0        offset = start
//   start < 0         offset = size + start, or 0 if that is negative; the ranges of the symbols or the number of
//                     elements determine the case
//
// Tests: test/Python/ops/test_tile_boundary_sizes.py, test/Python/ops/test_as_strided.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"
#include "lib/Import/Builder/SizeExpression.h"

namespace tilewright {
namespace {

AffineExpr startOf(Node &n, unsigned index, llvm::StringRef name) {
  return n.has(index, name) ? n.size(index, name) : n.constantSize(0);
}

/// Returns the expressions that the end of a slice may have after it is clamped to `size` elements. A null `end` means
/// the end of the dimension.
SmallVector<AffineExpr> endsOf(Node &n, AffineExpr end, AffineExpr size) {
  SmallVector<AffineExpr> ends{size};
  if (!end)
    return ends;
  auto [low, high] = rangeOf(end, n.importer.symbols);
  if (high >= 0)
    ends.push_back(canonicalSize(end));
  if (low < 0)
    ends.push_back(canonicalSize(size + end));
  return ends;
}

/// Returns the offset of a slice along a dimension of `size` elements. The slice has `kept` elements, with a distance
/// of `step`.
AffineExpr offsetOf(Node &n, AffineExpr start, AffineExpr size, AffineExpr kept, AffineExpr end = {},
                    int64_t step = 1) {
  AffineExpr zero = n.constantSize(0);
  if (kept == zero)
    return zero;
  auto [low, high] = rangeOf(start, n.importer.symbols);
  if (low >= 0)
    return start;
  if (high >= 0)
    n.refuse("the range of its start does not show whether it is negative");
  // The ranges of the symbols may prove whether the start is before the first element. Otherwise the number of kept
  // elements may prove it.
  AffineExpr offset = canonicalSize(size + start);
  auto [first, last] = rangeOf(offset, n.importer.symbols);
  if (first >= 0)
    return offset;
  if (last <= 0)
    return zero;
  for (AffineExpr to : step == 1 ? endsOf(n, end, size) : SmallVector<AffineExpr>()) {
    if (canonicalSize(kept) == to)
      return zero;
    if (canonicalSize(kept) == canonicalSize(to - offset))
      return offset;
  }
  n.refuse("the range of the size does not show whether the slice starts before the first element");
  return zero;
}

/// Returns the offset of the element `index`, which may be negative, of a dimension of `size` elements. torch has
/// checked that the index is in range.
AffineExpr offsetOfIndex(Node &n, AffineExpr index, AffineExpr size) {
  auto [low, high] = rangeOf(index, n.importer.symbols);
  if (low < 0 && high >= 0)
    n.refuse("the range of its index does not show whether it is negative");
  return low >= 0 ? index : canonicalSize(size + index);
}

/// Calls offsetOf() for the arguments `start` and `end` of `n`, which are the arguments `index` and `index` + 1.
AffineExpr offsetOfArguments(Node &n, unsigned index, AffineExpr size, AffineExpr kept, int64_t step) {
  AffineExpr start = startOf(n, index, "start"),
             end = n.has(index + 1, "end") ? n.size(index + 1, "end") : AffineExpr();
  return offsetOf(n, start, size, kept, end, step);
}

Results slice(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x), 0), step = n.integer(4, "step", 1);
  if (!n.demand(n.rankOf(x) > 0 && n.type().getRank() == n.rankOf(x), "a slice has as many dimensions as its tensor"))
    return n.refused();
  AffineExpr kept = sizesOf(n.type())[dim];
  return n.sliceDim(x, dim, offsetOfArguments(n, 2, n.sizesIn(x)[dim], kept, step), kept, step);
}

/// Selects one index along `dim`, and removes the dimension.
Value selectAt(Node &n, Value x, int64_t dim, AffineExpr index) {
  if (!n.demand(n.rankOf(x) > 0, "a tensor without dimensions has no parts"))
    return x;
  Value part = n.sliceDim(x, dim, offsetOfIndex(n, index, n.sizesIn(x)[dim]), n.constantSize(1));
  SmallVector<AffineExpr> sizes = n.sizesIn(part);
  sizes.erase(sizes.begin() + dim);
  return n.reshape(part, sizes);
}

Results select(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  AffineExpr index = n.size(2, "index");
  if (n.failed())
    return n.refused();
  return selectAt(n, x, dim, index);
}

/// Imports split, chunk and similar operators. The sizes of the parts are taken from the types of the results.
Results split(Node &n, unsigned dimIndex) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(dimIndex, "dim", n.rankOf(x), 0);
  if (n.failed())
    return n.refused();
  SmallVector<Value> parts;
  AffineExpr offset = n.constantSize(0);
  for (unsigned i = 0; i < n.resultCount(); ++i) {
    if (!n.demand(n.rankOf(x) > 0 && n.type(i) && n.type(i).getRank() == n.rankOf(x), "parts have their tensor's rank"))
      return n.refused();
    AffineExpr size = sizesOf(n.type(i))[dim];
    parts.push_back(n.sliceDim(x, dim, offset, size));
    offset = offset + size;
  }
  return parts;
}
Results splitBy(Node &n) { return split(n, 2); }

Results unbind(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x), 0);
  if (n.failed())
    return n.refused();
  SmallVector<Value> parts;
  for (unsigned i = 0; i < n.resultCount(); ++i)
    parts.push_back(selectAt(n, x, dim, n.constantSize(i)));
  return parts;
}

/// Replaces `size` elements of `base` along `dim`, from `offset` on and with stride `step`, by `part`. The result is
/// the concatenation of the elements before the slice, the slice with replaced elements, and the elements after the
/// slice.
Results replaceAlong(Node &n, Value base, Value part, int64_t dim, AffineExpr offset, AffineExpr size, int64_t step) {
  AffineExpr whole = n.sizesIn(base)[dim], rows = canonicalSize(size - 1), after = canonicalSize(offset + size);
  SmallVector<Value> pieces;
  if (offset != n.constantSize(0))
    pieces.push_back(n.sliceDim(base, dim, n.constantSize(0), offset));
  if (step > 1) {
    // Reshape the slice to rows of `step` elements, and replace the first element of each row. The last element of
    // `part` is handled separately, because its row may be incomplete.
    const AffineExpr inRows = canonicalSize(rows * step);
    if (rows != n.constantSize(0)) {
      SmallVector<AffineExpr> sizes = n.sizesIn(base);
      sizes[dim] = rows;
      sizes.insert(sizes.begin() + dim + 1, n.constantSize(step));
      Value old = n.sliceDim(n.reshape(n.sliceDim(base, dim, offset, inRows), sizes), dim + 1, n.constantSize(1),
                             n.constantSize(step - 1));
      Value replaced = n.concat({n.unsqueeze(n.sliceDim(part, dim, n.constantSize(0), rows), dim + 1), old}, dim + 1);
      sizes.erase(sizes.begin() + dim);
      sizes[dim] = inRows;
      pieces.push_back(n.reshape(replaced, sizes));
    }
    part = n.sliceDim(part, dim, rows, n.constantSize(1));
    after = canonicalSize(offset + inRows + 1);
  }
  pieces.push_back(part);
  if (AffineExpr rest = canonicalSize(whole - after); rest != n.constantSize(0))
    pieces.push_back(n.sliceDim(base, dim, after, rest));
  return n.broadcast(n.concat(pieces, dim), n.sizesIn(base));
}

Results sliceScatter(Node &n) {
  Value base = n.tensor(0, "self"), part = n.tensor(1, "src");
  int64_t dim = n.dim(2, "dim", n.rankOf(base), 0), step = n.integer(5, "step", 1);
  if (!n.demand(n.rankOf(base) > 0 && n.rankOf(part) == n.rankOf(base), "a part has its tensor's rank"))
    return n.refused();
  AffineExpr size = n.sizesIn(part)[dim];
  if (size == n.constantSize(0))
    return base;
  return replaceAlong(n, base, n.cast(part, n.element()), dim,
                      offsetOfArguments(n, 3, n.sizesIn(base)[dim], size, step), size, step);
}

Results selectScatter(Node &n) {
  Value base = n.tensor(0, "self"), part = n.tensor(1, "src");
  int64_t dim = n.dim(2, "dim", n.rankOf(base));
  AffineExpr index = n.size(3, "index");
  if (!n.demand(n.rankOf(base) > 0 && n.rankOf(part) + 1 == n.rankOf(base), "a part has another rank"))
    return n.refused();
  AffineExpr offset = offsetOfIndex(n, index, n.sizesIn(base)[dim]);
  return replaceAlong(n, base, n.unsqueeze(n.cast(part, n.element()), dim), dim, offset, n.constantSize(1), 1);
}

/// Imports slice_backward(grad, input_sizes, dim, start, end, step).
Results sliceBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output");
  int64_t dim = n.dim(2, "dim", n.rankOf(grad)), step = n.integer(5, "step", 1);
  if (!n.demand(n.rankOf(grad) > 0 && n.type().getRank() == n.rankOf(grad), "a part has its tensor's rank"))
    return n.refused();
  AffineExpr size = n.sizesIn(grad)[dim];
  if (size == n.constantSize(0))
    return n.zeros();
  return replaceAlong(n, n.zeros(), grad, dim, offsetOfArguments(n, 3, sizesOf(n.type())[dim], size, step), size, step);
}

/// Imports select_backward(grad, input_sizes, dim, index).
Results selectBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output");
  int64_t dim = n.dim(2, "dim", n.rankOf(grad) + 1);
  AffineExpr index = n.size(3, "index");
  if (!n.demand(n.type().getRank() == n.rankOf(grad) + 1, "a part has another rank"))
    return n.refused();
  AffineExpr offset = offsetOfIndex(n, index, sizesOf(n.type())[dim]);
  return replaceAlong(n, n.zeros(), n.unsqueeze(grad, dim), dim, offset, n.constantSize(1), 1);
}

/// Imports unfold(self, dimension, size, step), which returns windows along a dimension. The elements of a window are
/// the last dimension of the result. Windows may overlap, which tw.slice cannot express, so elements are gathered.
Results unfold(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dimension", n.rankOf(x)), step = n.integer(3, "step");
  if (!n.demand(n.type().getRank() == n.rankOf(x) + 1, "its result has another rank"))
    return n.refused();
  SmallVector<AffineExpr> sizes = sizesOf(n.type());
  if (n.rankOf(x) == 0)
    return n.reshape(x, n.type());
  Value starts = n.op<MulOp>(n.iota({sizes[dim], n.constantSize(1)}, 0, n.i64()), double(step));
  Value indices = n.op<AddOp>({starts, n.iota({sizes.back()}, 0, n.i64())});
  Value windows = take(n, x, {indices}, dim);
  SmallVector<int64_t> order;
  for (int64_t d : allDims(n.rankOf(x) + 1))
    if (d != dim + 1)
      order.push_back(d);
  order.push_back(dim + 1);
  return n.permute(windows, order);
}

/// Imports diagonal as tw.take, because tw.slice cannot express the strides of a diagonal.
Results diagonal(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t offset = n.integer(1, "offset", 0);
  int64_t a = n.dim(2, "dim1", n.rankOf(x), 0), b = n.dim(3, "dim2", n.rankOf(x), 1);
  if (!n.demand(n.rankOf(x) > 1 && a != b && n.type().getRank() + 1 == n.rankOf(x), "a diagonal is of two dimensions"))
    return n.refused();
  // Move the two dimensions to the end, and index them together by iota and iota + offset, or by iota - offset and iota
  // if the offset is negative.
  SmallVector<int64_t> order;
  for (int64_t dim : allDims(n.rankOf(x)))
    if (dim != a && dim != b)
      order.push_back(dim);
  int64_t lead = order.size();
  order.append({a, b});
  Value rows = n.iota({sizesOf(n.type()).back()}, 0, n.i64()), columns = rows;
  if (offset >= 0)
    columns = n.op<AddOp>({columns, n.scalarInt(offset, n.i64())});
  else
    rows = n.op<AddOp>({rows, n.scalarInt(-offset, n.i64())});
  return Value(TakeOp::create(n.builder, n.loc, n.type(), n.permute(x, order), ValueRange{rows, columns},
                              n.builder.getI64IntegerAttr(lead)));
}

} // namespace

void registerSlices(Table &t) {
  t.add("aten.slice.Tensor", Aliasing::View, slice);
  t.add("aten.select.int", Aliasing::View, select);
  for (llvm::StringRef op :
       {"split.Tensor", "split.sizes", "split_with_sizes.default", "chunk.default", "tensor_split.sections"})
    t.add(("aten." + op).str(), Aliasing::Views, splitBy);
  t["aten.split_copy.Tensor"] = t["aten.split_with_sizes_copy.default"] = splitBy;
  t.add("aten.unbind.int", Aliasing::Views, unbind);
  t["aten.unbind_copy.int"] = unbind;
  t["aten.slice_scatter.default"] = sliceScatter;
  t["aten.select_scatter.default"] = selectScatter;
  t["aten.slice_backward.default"] = sliceBackward;
  t["aten.select_backward.default"] = selectBackward;
  t.add("aten.diagonal.default", Aliasing::View, diagonal);
  t.add("aten.linalg_diagonal.default", Aliasing::View);
  t.add("aten.unfold.default", Aliasing::View, unfold);
  for (llvm::StringRef op : {"tensor_split.indices", "tensor_split.tensor_indices_or_sections", "dsplit.int",
                             "dsplit.array", "hsplit.int", "hsplit.array", "vsplit.int", "vsplit.array"})
    t.add(("aten." + op).str(), Aliasing::Views);
  // The results share the memory of the operand, but the schemas declare them as new tensors, and autograd treats them
  // as new tensors.
  for (llvm::StringRef op : {"unsafe_chunk.default", "unsafe_split.Tensor", "unsafe_split_with_sizes.default"})
    t.add(("aten." + op).str(), Aliasing::Unclear);
}

} // namespace tilewright
