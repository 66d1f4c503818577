//===- Searches.cpp - binary searches in sorted rows, and histograms ---------------------===//
//
// searchsorted and bucketize search many values in sorted rows at once. Each value has an interval [low, high] of
// positions. In each step, the element in the middle of the interval is read and compared with the value, which halves
// the interval. The number of steps is constant: it is the number of bits of the rows' largest size.
//
// nonzero_static(x, size) returns the indices of the first `size` nonzero elements. Element k (from 0) is where the
// cumulative count of nonzero elements reaches k + 1, so that it is found by a search in the counts.
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Searches.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

constexpr double mostElements = 4294967296.0; ///< maximum upper bound of a symbolic size of rows

/// Takes elements of `rows` [..., n] at `indices` [..., m]. All elements of `indices` refer to a single row if `rows`
/// has rank 1.
Value takeOfRows(Node &n, Value rows, Value indices) {
  return n.rankOf(rows) == 1 ? take(n, rows, {indices}, 0, /*wraps=*/false)
                             : gatherAlong(n, rows, indices, n.rankOf(rows) - 1);
}

} // namespace

Value countBefore(Node &n, Value rows, Value values, bool right) {
  Type index = n.i64();
  AffineExpr size = n.sizesIn(rows).back();
  const auto [least, most] = rangeOf(size, n.importer.symbols);
  if (!n.demand(isa<AffineConstantExpr>(size) || (least >= 1 && most <= mostElements),
                "it searches rows of a symbolic size that may be 0 or has no known maximum; specify the minimum and "
                "the maximum"))
    return values;
  SmallVector<AffineExpr> sizes = n.sizesIn(values);
  Value one = n.scalarInt(1, index), last = n.indexScalar(canonicalSize(size - 1), index);
  Value low = n.broadcast(n.scalarInt(0, index), sizes), high = n.broadcast(n.indexScalar(size, index), sizes);
  for (int64_t width = most; width > 0; width /= 2) {
    Value middle = n.op<ShiftRightOp>({n.op<AddOp>({low, high}), one});
    Value held = takeOfRows(n, rows, n.op<MinimumOp>({middle, last}));
    // The comparison is negated, because NaN is sorted after all numbers.
    Value reached = right ? n.compare<GtOp>(held, values) : n.compare<GeOp>(held, values);
    Value after = n.op<LogicalNotOp>({reached}, n.i1());
    after = n.op<LogicalAndOp>({after, n.compare<LtOp>(low, high)}, n.i1());
    Value next = n.where(after, n.op<AddOp>({middle, one}), low);
    high = n.where(after, high, middle);
    low = next;
  }
  return low;
}

namespace {

/// Searches the sorted rows in the argument `rowsArgument` for the values in the argument `valuesArgument`. The keyword
/// arguments of searchsorted and bucketize have the same positions.
Results search(Node &n, std::pair<unsigned, llvm::StringRef> rowsArgument,
               std::pair<unsigned, llvm::StringRef> valuesArgument) {
  Value rows = n.tensor(rowsArgument.first, rowsArgument.second);
  const bool right = n.flag(3, "right") || n.text(4, "side") == "right";
  Value sorter = n.optionalTensor(5, "sorter");
  if (n.failed())
    return n.refused();
  Type common = n.ordered(n.promoted({rowsArgument, valuesArgument}));
  Value values = n.isTensor(valuesArgument.first, valuesArgument.second)
                     ? n.convert(n.tensor(valuesArgument.first, valuesArgument.second), common)
                     : n.operand(valuesArgument.first, valuesArgument.second, common);
  if (sorter)
    sorter = asIndex(n, sorter);
  if (n.failed() || !n.demand(n.rankOf(rows) > 0, "the sorted sequence has rank 0"))
    return n.refused();
  if (sorter) {
    if (!n.demand(n.agree(n.sizesIn(sorter), n.sizesIn(rows)), "the sorter has another shape than the sequence"))
      return n.refused();
    rows = takeOfRows(n, rows, n.withSizes(sorter, n.sizesIn(rows)));
  }
  rows = n.convert(rows, common); // as in eager, a conversion to fewer digits rounds
  if (n.rankOf(values) == 0)
    values = n.reshape(values, {n.constantSize(1)});
  if (n.rankOf(rows) > 1) {
    SmallVector<AffineExpr> rowSizes = n.sizesIn(rows), sizes = n.sizesIn(values);
    if (!n.demand(sizes.size() == rowSizes.size(), "the ranks of the sorted sequence and of the values differ"))
      return n.refused();
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      AffineExpr both = n.agreed(rowSizes[i], sizes[i]);
      if (!n.demand(bool(both), "the leading sizes of the sorted sequence and of the values differ"))
        return n.refused();
      rowSizes[i] = sizes[i] = both;
    }
    rows = n.withSizes(rows, rowSizes);
    values = n.withSizes(values, sizes);
  }
  Value found = countBefore(n, rows, values, right);
  if (n.failed())
    return n.refused();
  return n.cast(n.reshape(found, n.type()), n.element());
}

/// Imports searchsorted(sorted_sequence, self, *, out_int32, right, side, sorter).
Results searchSorted(Node &n) { return search(n, {0, "sorted_sequence"}, {1, "self"}); }

/// Imports bucketize(self, boundaries, *, out_int32, right).
Results bucketize(Node &n) { return search(n, {1, "boundaries"}, {0, "self"}); }

/// Imports nonzero_static(self, *, size, fill_value).
Results nonzeroStatic(Node &n) {
  Value x = n.tensor(0, "self");
  AffineExpr size = n.size(1, "size");
  int64_t fill = n.integer(2, "fill_value", -1);
  if (n.failed())
    return n.refused();
  Type index = n.i64();
  AffineExpr none = n.constantSize(0), one = n.constantSize(1), elements = elementCount(n.typeOf(x));
  if (!n.demand(n.elementOf(x).isIntOrFloat(), "complex numbers are not supported") ||
      !n.demand(n.element() == index && sizesOf(n.type()) == ArrayRef<AffineExpr>{size, n.constantSize(n.rankOf(x))},
                "its result does not have the shape [size, rank]"))
    return n.refused();
  if (n.rankOf(x) == 0 || elements == none || size == none)
    return n.full(n.scalarInt(fill, index), n.type());
  Value counts = n.cast(n.cast(n.reshape(x, {elements}), n.i1()), index);
  counts = n.scan(ScanKind::Sum, counts, 0);
  Value wanted = n.op<AddOp>({n.iota({size}, 0, index), n.scalarInt(1, index)});
  Value found = countBefore(n, counts, wanted, /*right=*/false);
  if (n.failed())
    return n.refused();
  found = n.op<MinimumOp>({found, n.indexScalar(canonicalSize(elements - 1), index)});
  SmallVector<Value> columns;
  for (AffineExpr extent : llvm::reverse(n.sizesIn(x))) {
    Value by = n.indexScalar(extent, index);
    columns.push_back(n.unsqueeze(n.op<RemainderOp>({found, by}), 1));
    found = n.op<DivFloorOp>({found, by});
  }
  std::reverse(columns.begin(), columns.end());
  Value exists = n.compare<LeOp>(wanted, n.sliceDim(counts, 0, canonicalSize(elements - 1), one));
  return n.where(n.unsqueeze(exists, 1), n.concat(columns, 1), n.scalarInt(fill, index));
}

/// Imports histc(self, bins, min, max), which counts the elements in each of `bins` equal intervals between `min` and
/// `max`. As in eager, the number of a bin is computed in the dtype of the elements, and a NaN is in no bin.
Results histogram(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t bins = n.integer(1, "bins", 100);
  double low = n.number(2, "min", 0.0), high = n.number(3, "max", 0.0);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(x), index = n.i64(), count = n.accumulator(element);
  if (!n.demand(isa<FloatType>(element), "integers are not supported; convert them to floats") ||
      !n.demand(low < high && std::isfinite(low) && std::isfinite(high),
                "edges that depend on the data are not supported; pass finite min and max") ||
      !n.demand(bins > 0 && bins < std::numeric_limits<int32_t>::max(), "the number of bins is out of range"))
    return n.refused();
  AffineExpr elements = elementCount(n.typeOf(x)), binCount = n.constantSize(bins);
  Value flat = n.reshape(x, {elements});
  Value scaled = n.op<DivOp>(n.op<MulOp>(n.op<SubOp>(flat, low), double(bins)), high - low);
  Value bin = n.op<MinimumOp>({n.cast(scaled, index), n.scalarInt(bins - 1, index)});
  bin = n.op<MaximumOp>({bin, n.scalarInt(0, index)});
  Value inside = n.op<LogicalAndOp>(
      {n.compare<GeOp>(flat, n.scalar(low, element)), n.compare<LeOp>(flat, n.scalar(high, element))}, n.i1());
  bin = n.where(inside, bin, n.scalarInt(bins, index)); // bin `bins` is discarded
  Value zeros = n.broadcast(n.scalar(0, count), {n.constantSize(bins + 1)});
  Value ones = n.broadcast(n.scalar(1, count), {elements});
  Value counts = scatterAlong(n, zeros, bin, ones, 0, ScatterKind::Add);
  return n.cast(n.sliceDim(counts, 0, n.constantSize(0), binCount), n.element());
}

} // namespace

void registerSearches(Table &t) {
  t["aten.searchsorted.Tensor"] = searchSorted;
  t["aten.searchsorted.Scalar"] = searchSorted;
  t["aten.bucketize.Tensor"] = bucketize;
  t["aten.nonzero_static.default"] = nonzeroStatic;
  t["aten.histc.default"] = histogram;
}

} // namespace tilewright
