//===- ScansAndSorts.cpp - running sums, sort and topk --------------------------------===//
#include "lib/Import/ATen/Elementwise.h"
#include "lib/Import/ATen/Sorts.h"
#include "lib/Import/ATen/Table.h"
#include <limits>

namespace tilewright {

Sorted sortAlong(Node &n, Value x, int64_t dim, bool descending, std::optional<int64_t> k) {
  Type element = n.elementOf(x), compute = n.ordered(element);
  if (element.isInteger(1) || element.isUnsignedInteger(8)) // CPU kernels sort long rows of bytes by counting
    compute = n.builder.getIntegerType(8, /*isSigned=*/false);
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  if (k)
    sizes[dim] = n.constantSize(*k);
  auto op = SortOp::create(
      n.builder, n.loc, TypeRange{tensorWithSizes(sizes, compute), tensorWithSizes(sizes, n.i64())}, n.cast(x, compute),
      n.builder.getI64IntegerAttr(dim), descending ? n.builder.getUnitAttr() : UnitAttr(),
      k ? n.builder.getI64IntegerAttr(*k) : IntegerAttr());
  return {n.cast(op.getValues(), element), op.getIndices()};
}

namespace {

template <ScanKind kind> Results scan(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.element());
  x = n.cast(x, compute);
  if (n.rankOf(x))
    x = n.scan(kind, x, dim);
  return n.cast(x, n.element());
}

/// Imports cummax and cummin, which return the running maximum or minimum and the index of its last occurrence. From a
/// NaN on, the running maximum or minimum is NaN.
template <ScanKind kind> Results runningExtreme(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  if (n.failed())
    return n.refused();
  if (n.rankOf(x) == 0)
    return {x, n.scalarInt(0, n.i64())};
  Type element = n.elementOf(x), compute = n.ordered(element);
  if (n.failed())
    return n.refused();
  Value wide = n.cast(x, compute);
  Value extreme = n.scan(kind, wide, dim);
  Value met = n.compare<EqOp>(wide, extreme);
  if (isa<FloatType>(compute))
    met = n.op<LogicalOrOp>({met, n.op<IsnanOp>({wide}, n.i1())});
  Value index = n.where(met, n.iota(n.sizesIn(x), dim, n.i64()), n.scalarInt(0, n.i64()));
  Value last = n.scan(ScanKind::Max, index, dim);
  return {n.cast(extreme, element), last};
}

/// Imports logcumsumexp(self, dim). Computes the scan by recursive doubling: each step combines sums of 1, 2, 4, ...
/// elements.
Results logcumsumexp(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  if (!n.demand(isa<FloatType>(n.element()), "logarithms of " + dtypeName(n.element())))
    return n.refused();
  if (n.rankOf(x) == 0)
    return x;
  auto size = dyn_cast<AffineConstantExpr>(n.sizesIn(x)[dim]);
  if (!size)
    return n.refuse("the size of the dimension is symbolic; make it a constant");
  Value sums = n.cast(x, n.accumulator(n.element()));
  Value nothing = n.scalar(-std::numeric_limits<double>::infinity(), n.elementOf(sums));
  for (unsigned bit = 0; bit < 62 && (int64_t(1) << bit) < size.getValue(); ++bit) {
    AffineExpr step = n.constantSize(int64_t(1) << bit);
    SmallVector<AffineExpr> gap = n.sizesIn(x);
    gap[dim] = step;
    Value earlier = n.sliceDim(sums, dim, n.constantSize(0), canonicalSize(size - step));
    sums = logAddExp(n, sums, n.concat({n.broadcast(nothing, gap), earlier}, dim));
  }
  return n.cast(sums, n.element());
}

/// Sorts along `dim`. Returns the sorted elements and their indices, or only the indices if the node has one result, as
/// argsort has.
Results sorted(Node &n, Value x, int64_t dim, bool descending, std::optional<int64_t> k) {
  if (n.rankOf(x) == 0)
    return {x, n.scalarInt(0, n.i64())};
  Sorted found = sortAlong(n, x, dim, descending, k);
  if (n.resultCount() == 1)
    return found.indices;
  return {found.values, found.indices};
}

/// Imports sort(self, dim, descending).
Results sort(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x), -1);
  bool descending = n.flag(2, "descending");
  if (n.failed())
    return n.refused();
  return sorted(n, x, dim, descending, std::nullopt);
}

/// Imports sort.stable(self, *, stable, dim, descending).
Results stableSort(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(2, "dim", n.rankOf(x), -1);
  bool descending = n.flag(3, "descending");
  if (n.failed())
    return n.refused();
  return sorted(n, x, dim, descending, std::nullopt);
}

Results argsort(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x), -1);
  bool descending = n.flag(2, "descending");
  if (n.failed())
    return n.refused();
  if (n.rankOf(x) == 0)
    return n.scalarInt(0, n.i64());
  return sorted(n, x, dim, descending, std::nullopt);
}

/// Imports topk(self, k, dim, largest, sorted). The result is always sorted. For a symbolic k, all elements are sorted,
/// and the first k are the result.
Results topk(Node &n) {
  Value x = n.tensor(0, "self");
  AffineExpr k = n.size(1, "k");
  int64_t dim = n.dim(2, "dim", n.rankOf(x), -1);
  bool largest = n.flag(3, "largest", true);
  if (n.failed())
    return n.refused();
  if (auto known = dyn_cast<AffineConstantExpr>(k))
    return n.demand(known.getValue() >= 0, "k is negative") ? sorted(n, x, dim, largest, known.getValue())
                                                            : n.refused();
  if (!n.demand(n.rankOf(x) > 0, "its input has rank 0"))
    return n.refused();
  Results found = sorted(n, x, dim, largest, std::nullopt);
  for (Value &all : found.values)
    all = n.sliceDim(all, dim, n.constantSize(0), k);
  return found;
}

} // namespace

void registerScansAndSorts(Table &t) {
  t["aten.cumsum.default"] = scan<ScanKind::Sum>;
  t["aten.cumprod.default"] = scan<ScanKind::Prod>;
  t["aten.cummax.default"] = runningExtreme<ScanKind::Max>;
  t["aten.cummin.default"] = runningExtreme<ScanKind::Min>;
  t["aten.logcumsumexp.default"] = logcumsumexp;
  t["aten.sort.default"] = sort;
  t["aten.sort.stable"] = stableSort;
  t["aten.argsort.default"] = argsort;
  t["aten.topk.default"] = topk;
}

} // namespace tilewright
