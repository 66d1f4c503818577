//===- EmbeddingBags.cpp - sums, means and maxima of bags of rows -------------------------===//
//
// A bag is a contiguous range of `indices`, each of which selects a row of the table `weight`. `offsets` has the
// position where each bag begins. The bag of an element is the number of bags that begin at or before it, minus 1:
//
//   offsets [0, 3, 3]    bags that begin at each position [1, 0, 0, 2, 0]    bag of each element [0, 0, 0, 2, 2]
//
// The row of each bag is the sum, the mean or the maximum of the rows of its elements. The index `padding_idx` is
// skipped. The other results are those of torch's kernels (aten/src/ATen/native/EmbeddingBag.cpp): the bag of each
// element, the number of elements of each bag, and the indices of the table's rows with the maxima.
//
// Test: test/Python/test_plain_exports.py, test/Python/test_data_dependent_errors.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/EmbeddingBags.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"
#include <limits>

namespace tilewright {

Value divisors(Node &n, Value counts, Type element) {
  Value positive = n.op<MaximumOp>({counts, n.scalarInt(1, n.elementOf(counts))});
  return n.unsqueeze(n.cast(positive, element), 1);
}

Value bagsOf(Node &n, Value offsets, AffineExpr count) {
  const bool isSmall = rangeOf(count, n.importer.symbols).second < 2147483648.0;
  Type type = isSmall ? n.builder.getI32Type() : n.i64();
  Value zero = n.scalarInt(0, type), one = n.scalarInt(1, type);
  Value position = n.iota({canonicalSize(count + 1)}, 0, n.i64()); // an empty bag at the end begins at `count`
  Value begins = n.where(n.compare<EqOp>(position, n.scalarInt(0, n.i64())), n.scalarInt(-1, type), zero);
  begins = putAlong(n, begins, offsets, n.broadcast(one, n.sizesIn(offsets)), 0, ScatterKind::Add);
  begins = n.scan(ScanKind::Sum, begins, 0);
  // If the first offset is not 0, the elements before it have the bag -1, and the check of the offsets makes the call
  // fail. GPU kernels have no such check. The maximum with 0 ensures that they do not write before the result.
  return n.op<MaximumOp>({n.sliceDim(begins, 0, n.constantSize(0), count), zero});
}

Value notPadding(Node &n, Value indices, int64_t padding) {
  return n.unsqueeze(n.compare<NeOp>(indices, n.scalarInt(padding, n.elementOf(indices))), 1);
}

Value withoutPadding(Node &n, Value rows, Value indices, int64_t padding) {
  return padding < 0 ? rows : n.where(notPadding(n, indices, padding), rows, n.scalar(0, n.elementOf(rows)));
}

Value weightedRows(Node &n, Value rows, Value perSample) {
  if (!perSample)
    return rows;
  if (!n.demand(n.rankOf(perSample) == 1 && n.agree(n.sizesIn(perSample), ArrayRef(n.sizesIn(rows)).take_front()),
                "it does not have one weight per element"))
    return rows;
  return n.op<MulOp>({rows, n.unsqueeze(n.cast(perSample, n.elementOf(rows)), 1)});
}

namespace {

/// Returns `value`, whose first dimension is that of `offsets`. A call fails if the first offset is not 0, or if an
/// offset is less than the previous offset. In some modes, eager does not check the order of offsets, and returns
/// arbitrary values.
Value checkedOffsets(Node &n, Value offsets, Value value) {
  if (n.isEmpty(offsets))
    return value;
  Value position = n.iota(n.sizesIn(offsets), 0, n.i64()), zero = n.scalarInt(0, n.i64());
  Value before = n.op<MaximumOp>({n.op<SubOp>({position, n.scalarInt(1, n.i64())}), zero});
  Value rises = n.compare<GeOp>(offsets, take(n, offsets, {before}, 0, /*wraps=*/false));
  Value begins = n.op<LogicalOrOp>(
      {n.compare<NeOp>(position, zero), n.compare<EqOp>(offsets, n.scalarInt(0, n.elementOf(offsets)))});
  if (n.rankOf(value) > 1) {
    rises = n.unsqueeze(rises, 1);
    begins = n.unsqueeze(begins, 1);
  }
  value = n.checked(rises, value, "offsets of embedding_bag must not fall: each bag begins where the one before ends");
  return n.checked(begins, value,
                   "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0.");
}

/// Returns the maxima of the bags and, for each maximum, the position of the first element that has it. `bags` has the
/// bag of each row of `rows`. A bag without elements has the maximum -inf and the last position.
std::pair<Value, Value> maximaOf(Node &n, Value rows, Value bags, AffineExpr total) {
  SmallVector<AffineExpr> sizes = n.sizesIn(rows), results{total, sizes[1]};
  Value least = n.scalar(-std::numeric_limits<double>::infinity(), n.elementOf(rows));
  bags = n.cast(bags, n.i64());
  Value targets = n.broadcast(n.unsqueeze(bags, 1), sizes);
  Value largest = scatterAlong(n, n.broadcast(least, results), targets, rows, 0, ScatterKind::Max);
  Value last = n.indexScalar(canonicalSize(sizes[0] - 1), n.i64()), position = n.iota({sizes[0]}, 0, n.i64());
  Value isLargest = n.compare<EqOp>(rows, take(n, largest, {bags}, 0, /*wraps=*/false));
  Value positions = n.where(isLargest, n.unsqueeze(position, 1), last);
  return {largest, scatterAlong(n, n.broadcast(last, results), targets, positions, 0, ScatterKind::Min)};
}

/// Imports _embedding_bag and _embedding_bag_forward_only(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
/// per_sample_weights, include_last_offset, padding_idx). Returns (the row of each bag, the bag of each element, the
/// number of elements of each bag, the indices of the rows with the maxima). As in eager, the last result repeats the
/// numbers of elements in the mode "mean". The last three results have the sizes of torch's fake kernel, some of which
/// depend on the mode and the device.
Results embeddingBag(Node &n) {
  Value weight = n.tensor(0, "weight"), indices = asIndex(n, n.tensor(1, "indices")),
        offsets = asIndex(n, n.tensor(2, "offsets")), perSample = n.optionalTensor(6, "per_sample_weights");
  const int64_t mode = n.integer(4, "mode", sumMode), padding = n.integer(8, "padding_idx", -1);
  const bool hasEnd = n.flag(7, "include_last_offset");
  if (!n.demand(n.resultCount() == 4 && n.type(0), "it does not have four results") ||
      !n.demand(n.rankOf(weight) == 2 && n.rankOf(indices) == 1 && n.rankOf(offsets) == 1,
                "its operands are not a table (rank 2), indices (rank 1) and offsets (rank 1)") ||
      !n.demand(isa<FloatType>(n.elementOf(weight)), "a table of " + dtypeName(n.elementOf(weight)) + " elements") ||
      !n.demand(mode >= sumMode && mode <= maxMode, "a mode other than sum, mean and max") ||
      !n.demand(!perSample || mode == sumMode, "only sums have weights of elements"))
    return n.refused();
  const AffineExpr count = n.sizesIn(indices)[0], columns = n.sizesIn(weight)[1];
  if (!n.demand(mode != maxMode || n.isEmpty(indices) || rangeOf(count, n.importer.symbols).first >= 1,
                "maxima of a symbolic number of elements that may be 0; specify a minimum"))
    return n.refused();
  AffineExpr total = n.sizesIn(offsets)[0];
  if (hasEnd) {
    if (!n.demand(total != n.constantSize(0), "it has no offsets, but the last one is to be included"))
      return n.refused();
    total = canonicalSize(total - 1);
    offsets = n.sliceDim(offsets, 0, n.constantSize(0), total);
  }
  const Type compute = n.accumulator(n.elementOf(weight)), index = n.i64();
  auto rowsResult = [&](Value rows) { return n.reshape(n.cast(rows, n.element(0)), n.type(0)); };
  // A result without a type is not used.
  auto zerosResult = [&](unsigned number) { return n.type(number) ? n.zeros(number) : Value(); };
  if (n.isEmpty(indices) || n.isEmpty(offsets)) {
    Value zeros = n.broadcast(n.scalar(0, compute), {total, n.constantSize(1)});
    zeros = n.broadcast(checkedOffsets(n, offsets, zeros), {total, columns});
    return {rowsResult(zeros), zerosResult(1), zerosResult(2), zerosResult(3)};
  }
  auto result = [&](unsigned number, Value value) {
    if (!value || !n.type(number) || n.isEmpty(n.type(number)))
      return zerosResult(number);
    // If include_last_offset is set, torch's fake kernels sometimes return a shape with one bag too many. Pad the
    // result to this shape.
    if (hasEnd && n.rankOf(value) == 1 && sizesOf(n.type(number)) == ArrayRef<AffineExpr>{canonicalSize(total + 1)})
      value = n.pad(value, {0}, {1});
    return n.reshape(n.cast(value, n.element(number)), n.type(number));
  };

  Value bags = bagsOf(n, checkedOffsets(n, offsets, offsets), count);
  Value rows = n.cast(take(n, weight, {indices}, 0, /*wraps=*/false), compute);
  // For sums, eager's CPU kernels return zeros instead of the numbers of elements. On a GPU, the last result is then
  // empty.
  Value lengths, rowsOfMaxima;
  if (mode != sumMode || (n.type(3) && n.isEmpty(n.type(3)))) {
    Value isCounted = padding < 0 ? n.broadcast(n.scalarInt(1, index), {count})
                                  : n.cast(n.reshape(notPadding(n, indices, padding), {count}), index);
    lengths = putAlong(n, n.broadcast(n.scalarInt(0, index), {total}), bags, isCounted, 0, ScatterKind::Add);
  }
  Value made;
  if (mode == maxMode) {
    if (padding >= 0)
      rows =
          n.where(notPadding(n, indices, padding), rows, n.scalar(-std::numeric_limits<double>::infinity(), compute));
    auto [largest, positions] = maximaOf(n, rows, bags, total);
    Value hasElements = n.unsqueeze(n.compare<GtOp>(lengths, n.scalarInt(0, index)), 1);
    made = n.where(hasElements, largest, n.scalar(0, compute));
    rowsOfMaxima = take(n, indices, {positions}, 0, /*wraps=*/false);
  } else {
    rows = withoutPadding(n, weightedRows(n, rows, perSample), indices, padding);
    if (n.failed())
      return n.refused();
    made = putAlong(n, n.broadcast(n.scalar(0, compute), {total, columns}), bags, rows, 0, ScatterKind::Add);
    if (mode == meanMode) {
      made = n.op<DivOp>({made, divisors(n, lengths, compute)});
      rowsOfMaxima = lengths;
    }
  }
  return {rowsResult(made), result(1, bags), result(2, lengths), result(3, rowsOfMaxima)};
}

} // namespace

void registerEmbeddingBags(Table &t) {
  t["aten._embedding_bag.default"] = t["aten._embedding_bag_forward_only.default"] = embeddingBag;
}

} // namespace tilewright
