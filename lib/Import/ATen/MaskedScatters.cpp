//===- MaskedScatters.cpp - writes at boolean masks, and unpooling --------------------------===//
//
// masked_scatter(x, mask, source) replaces the k-th element (from 0) whose mask is true by element k of the source:
//
//   k      = cumsum(mask) - 1
//   result = where(mask, source[k], x)
//
// A call fails if the source has fewer elements than the mask has true elements. On a CPU, the error is eager's. On a
// GPU, the error is an index out of range.
//
// Test: test/Python/test_data_dependent_errors.py, test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Returns for each element of the boolean tensor `mask` the number of true elements up to this element, minus 1, in
/// row-major order and as a tensor of rank 1.
Value positionsOfTrue(Node &n, Value mask) {
  AffineExpr count = elementCount(n.typeOf(mask));
  Value flat = n.cast(n.reshape(mask, {count}), n.i64());
  Value sums = n.scan(ScanKind::Sum, flat, 0);
  return n.op<SubOp>({sums, n.scalarInt(1, n.i64())});
}

/// Imports masked_scatter(self, mask, source).
Results maskedScatter(Node &n) {
  Value x = n.tensor(0, "self"), mask = n.tensor(1, "mask"), source = n.tensor(2, "source");
  if (!n.demand(n.elementOf(mask) == n.i1(), "its mask is not boolean"))
    return n.refused();
  SmallVector<AffineExpr> sizes = sizesOf(n.type());
  Value old = n.broadcast(n.cast(x, n.element()), sizes), here = n.broadcast(mask, sizes);
  AffineExpr given = elementCount(n.typeOf(source));
  Value positions = positionsOfTrue(n, here);
  if (n.isEmpty(here))
    return old;
  // The number of true elements is the last position plus 1.
  AffineExpr last = canonicalSize(elementCount(n.type()) - 1), one = n.constantSize(1);
  Value most = n.reshape(n.sliceDim(positions, 0, last, one), ArrayRef<AffineExpr>());
  Value fits = n.compare<LtOp>(most, n.indexScalar(given, n.i64()));
  const char *message = "Number of elements of source < number of ones in mask";
  if (n.isEmpty(source))
    return n.checked(fits, old, message);
  Value index = n.op<MaximumOp>({positions, n.scalarInt(0, n.i64())});
  Value taken = take(n, n.reshape(source, {given}), {index}, 0, /*wraps=*/false);
  // The condition is checked after the indices, so that a CPU reports its message instead of an index out of range.
  Value values = n.checked(fits, n.reshape(n.cast(taken, n.element()), sizes), message);
  return n.where(here, values, old);
}

/// Imports masked_scatter_backward(grad_output, mask, sizes), the gradient of the source: element k is the gradient of
/// the k-th element whose mask is true, or 0 if the mask has fewer true elements.
Results maskedScatterBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output"), mask = n.tensor(1, "mask");
  if (!n.demand(n.elementOf(mask) == n.i1(), "its mask is not boolean"))
    return n.refused();
  mask = n.broadcast(mask, n.sizesIn(grad));
  AffineExpr count = elementCount(n.type()), all = elementCount(n.typeOf(grad));
  Value limit = n.indexScalar(count, n.i64()), positions = positionsOfTrue(n, mask);
  // Gradients that belong to no element of the source (because the mask is false, or the position is not less than
  // `count`) are written to an additional element at the end.
  Value used = n.op<LogicalAndOp>({n.reshape(mask, {all}), n.compare<LtOp>(positions, limit)}, n.i1());
  positions = n.where(used, positions, limit);
  AffineExpr more = canonicalSize(count + 1);
  Value zeros = n.broadcast(n.scalar(0, n.element()), {more});
  Value written = PutOp::create(n.builder, n.loc, zeros.getType(), zeros, n.reshape(grad, {all}), ValueRange{positions},
                                0, ScatterKind::Set);
  return n.reshape(n.sliceDim(written, 0, n.constantSize(0), count), n.type());
}

/// Imports max_unpool2d(self, indices, output_size). An index is a position in the plane of the result that belongs to
/// the same image and channel.
Results maxUnpool(Node &n) {
  Value x = n.tensor(0, "self"), indices = n.tensor(1, "indices");
  constexpr int64_t spatial = 2;
  const int64_t leading = n.rankOf(x) - spatial;
  if (!n.demand(leading == 1 || leading == 2, "the input has another rank") ||
      !n.demand(n.elementOf(indices) == n.i64() && n.agree(n.sizesIn(x), n.sizesIn(indices)),
                "the indices have another dtype or shape than the input"))
    return n.refused();
  SmallVector<AffineExpr> sizes = sizesOf(n.type());
  if (n.isEmpty(n.type()))
    return n.zeros();
  AffineExpr plane = n.product(ArrayRef(sizes).take_back(spatial));
  AffineExpr planes = n.product(ArrayRef(sizes).drop_back(spatial));
  Value inside = n.op<LogicalAndOp>(
      {n.compare<GeOp>(indices, n.scalarInt(0, n.i64())), n.compare<LtOp>(indices, n.indexScalar(plane, n.i64()))},
      n.i1());
  std::string shape;
  for (AffineExpr size : ArrayRef(sizes).take_back(spatial)) {
    auto known = dyn_cast<AffineConstantExpr>(size);
    shape += (shape.empty() ? "" : "x") + (known ? std::to_string(known.getValue()) : "?");
  }
  indices = n.checked(inside, indices, "Found an invalid max index (output volumes are of size " + shape + ")");
  // Each row contains the plane of one image and channel.
  Value rows = n.reshape(indices, {planes, n.product(ArrayRef(n.sizesIn(x)).take_back(spatial))});
  Value values = n.reshape(x, n.sizesIn(rows));
  Value zeros = n.broadcast(n.scalar(0, n.element()), {planes, plane});
  Value made = scatterAlong(n, zeros, rows, values, 1, ScatterKind::Set);
  return n.reshape(made, n.type());
}

} // namespace

void registerMaskedScatters(Table &t) {
  t["aten.masked_scatter.default"] = maskedScatter;
  t["aten.masked_scatter_backward.default"] = maskedScatterBackward;
  t["aten.max_unpool2d.default"] = maxUnpool;
}

} // namespace tilewright
