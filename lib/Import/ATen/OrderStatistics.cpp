//===- OrderStatistics.cpp - k-th values, medians and modes -----------------------------===//
//
// These operators return one element of each row (the elements along a dimension) and its index in the row. Each row is
// sorted, and an element of the sorted row is selected:
//
//   kthvalue    element k - 1
//   median      the middle element (for an even number of elements, the lower of the two middle elements), or the first
//               NaN if the row contains NaN. NaN is sorted to the end, so that the position of the first NaN is the
//               number of elements that are not NaN.
//   nanmedian   the median of the elements that are not NaN
//   mode        the last element of the first of the longest runs of equal elements
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Sorts.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// The operand of an operator on the rows along the dimension `dim`, which have `size` elements.
struct Rows {
  Value x;
  int64_t dim = 0;
  bool keepdim = false;
  AffineExpr size;

  int64_t rank() const { return Node::rankOf(x); }
};

/// Sets the size of the rows. Refuses rows that may be empty, because eager then raises an error or returns NaN.
Rows checked(Node &n, Rows rows) {
  if (n.failed())
    return rows;
  n.demand(Node::elementOf(rows.x).isIntOrFloat(), "complex numbers have no order");
  rows.size = n.sizesIn(rows.x)[rows.dim];
  n.demand(rangeOf(rows.size, n.importer.symbols).first >= 1,
           "it selects an element of rows that may be empty; use sizes that are known to be positive");
  return rows;
}

/// Reads the arguments (self, ..., dim, keepdim), where `dim` is the argument at position `index`, with the default
/// `otherwise`. A 0-d tensor is a row of one element.
Rows readRows(Node &n, unsigned index, std::optional<int64_t> otherwise = std::nullopt) {
  Rows rows;
  rows.x = n.tensor(0, "self");
  rows.dim = n.dim(index, "dim", n.rankOf(rows.x), otherwise);
  rows.keepdim = n.flag(index + 1, "keepdim");
  if (!n.failed() && rows.rank() == 0) {
    rows.x = n.unsqueeze(rows.x, 0);
    rows.keepdim = false;
  }
  return checked(n, rows);
}

/// Returns the argument `self` as one row.
Rows readAll(Node &n) {
  Rows rows;
  rows.x = n.tensor(0, "self");
  if (!n.failed())
    rows.x = n.reshape(rows.x, {elementCount(n.typeOf(rows.x))});
  return checked(n, rows);
}

/// Returns the sizes of a result: the dimension of the rows has size 1, or is missing without `keepdim`.
SmallVector<AffineExpr> reducedSizes(Node &n, const Rows &rows, bool keepdim) {
  SmallVector<AffineExpr> sizes = n.sizesIn(rows.x);
  if (keepdim)
    sizes[rows.dim] = n.constantSize(1);
  else
    sizes.erase(sizes.begin() + rows.dim);
  return sizes;
}

/// Selects an element of each sorted row and its index. `position`, in which the dimension of the rows has size 1, is
/// the element's position in the sorted row.
Results selectAt(Node &n, const Rows &rows, const Sorted &sorted, Value position) {
  SmallVector<AffineExpr> sizes = reducedSizes(n, rows, rows.keepdim);
  auto select = [&](Value from) { return n.reshape(gatherAlong(n, from, position, rows.dim), sizes); };
  return {select(sorted.values), select(sorted.indices)};
}

/// Selects the element with the same position in each row. The position must be inside of the rows.
Results selectAt(Node &n, const Rows &rows, const Sorted &sorted, AffineExpr position) {
  SmallVector<AffineExpr> sizes = reducedSizes(n, rows, rows.keepdim);
  auto select = [&](Value from) { return n.reshape(n.sliceDim(from, rows.dim, position, n.constantSize(1)), sizes); };
  return {select(sorted.values), select(sorted.indices)};
}

/// Imports kthvalue(self, k, dim, keepdim). If the ranges of the symbolic sizes do not prove that k is at least 1
/// and at most the length of a row, tw.gather checks it at each call.
Results kthValue(Node &n) {
  AffineExpr k = n.size(1, "k");
  Rows rows = readRows(n, 2, -1);
  if (n.failed())
    return n.refused();
  AffineExpr position = canonicalSize(k - 1);
  const double last = rangeOf(canonicalSize(rows.size - k), n.importer.symbols).first;
  const bool inside = rangeOf(position, n.importer.symbols).first >= 0 && last >= 0;
  if (!n.demand(inside || !isa<AffineConstantExpr>(k) || !isa<AffineConstantExpr>(rows.size),
                "k is out of range for the size of the dimension"))
    return n.refused();
  Sorted sorted = sortAlong(n, rows.x, rows.dim);
  if (inside)
    return selectAt(n, rows, sorted, position);
  return selectAt(n, rows, sorted, n.broadcast(n.indexScalar(position, n.i64()), reducedSizes(n, rows, true)));
}

Results medianOf(Node &n, const Rows &rows, bool ignoresNan) {
  Sorted sorted = sortAlong(n, rows.x, rows.dim);
  AffineExpr middle = canonicalSize((rows.size - 1).floorDiv(2));
  if (!isa<FloatType>(n.elementOf(rows.x)))
    return selectAt(n, rows, sorted, middle);
  Value size = n.indexScalar(rows.size, n.i64());
  Value nans = n.reduce(ReduceKind::Sum, n.cast(n.op<IsnanOp>({rows.x}, n.i1()), n.i64()), {rows.dim}, true);
  Value numbers = n.op<SubOp>({size, nans});
  if (!ignoresNan) {
    Value hasNan = n.compare<LtOp>(numbers, size);
    return selectAt(n, rows, sorted, n.where(hasNan, numbers, n.indexScalar(middle, n.i64())));
  }
  Value last = n.op<MaximumOp>({n.op<SubOp>({numbers, n.scalarInt(1, n.i64())}), n.scalarInt(0, n.i64())});
  return selectAt(n, rows, sorted, n.op<ShiftRightOp>({last, n.scalarInt(1, n.i64())}));
}

/// Imports median(self, dim, keepdim) and nanmedian(self, dim, keepdim).
template <bool ignoresNan> Results median(Node &n) {
  Rows rows = readRows(n, 1);
  if (n.failed())
    return n.refused();
  return medianOf(n, rows, ignoresNan);
}

/// Imports median(self) and nanmedian(self), whose result is the median of all elements.
template <bool ignoresNan> Results medianOfAll(Node &n) {
  Rows rows = readAll(n);
  if (n.failed())
    return n.refused();
  return medianOf(n, rows, ignoresNan).values.front();
}

/// Imports mode(self, dim, keepdim), which returns the most frequent value of each row and the last index of this
/// value.
Results mode(Node &n) {
  Rows rows = readRows(n, 1, -1);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(rows.x), index = n.i64();
  if (element.isInteger(1))
    rows.x = n.cast(rows.x, n.builder.getIntegerType(8, /*isSigned=*/false));
  Sorted sorted = sortAlong(n, rows.x, rows.dim);
  AffineExpr none = n.constantSize(0), one = n.constantSize(1);
  SmallVector<Value> shifted{n.sliceDim(sorted.values, rows.dim, none, one)};
  if (rows.size != one)
    shifted.push_back(n.sliceDim(sorted.values, rows.dim, none, canonicalSize(rows.size - 1)));
  Value before = n.reshape(n.concat(shifted, rows.dim), n.sizesIn(sorted.values));
  Value position = n.alongDim(n.iota({rows.size}, 0, index), rows.dim, rows.rank()), zero = n.scalarInt(0, index);
  Value begins = n.op<LogicalOrOp>({n.compare<NeOp>(sorted.values, before), n.compare<EqOp>(position, zero)}, n.i1());
  Value begin = n.where(begins, position, zero); // where a run begins, otherwise 0
  begin = n.scan(ScanKind::Max, begin, rows.dim);
  Value length = n.op<SubOp>({position, begin}); // length of the run up to each element, minus 1
  auto type = tensorWithSizes(reducedSizes(n, rows, false), index);
  Value longest = ArgReduceOp::create(n.builder, n.loc, type, length, ReduceKind::Max, rows.dim, false);
  Results found = selectAt(n, rows, sorted, n.reshape(longest, reducedSizes(n, rows, true)));
  found.values.front() = n.cast(found.values.front(), element);
  return found;
}

} // namespace

void registerOrderStatistics(Table &t) {
  t["aten.kthvalue.default"] = kthValue;
  t["aten.median.dim"] = median<false>;
  t["aten.median.default"] = medianOfAll<false>;
  t["aten.nanmedian.dim"] = median<true>;
  t["aten.nanmedian.default"] = medianOfAll<true>;
  t["aten.mode.default"] = mode;
}

} // namespace tilewright
