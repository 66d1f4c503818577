//===- PaddingGradients.cpp - gradients of replication padding -------------------------------===//
//
// Replication padding repeats the elements at the edges. The gradients of the copies are added to the gradient of the
// element at the edge, along one dimension after the other. Negative padding crops elements, whose gradients are 0. For
// f16 and bf16, all sums are computed in f32 and rounded once.
//
// Test: test/Python/ops/test_decomposed.py, test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Padding.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

Value padWithZeros(Node &n, Value x, int64_t dim, int64_t low, int64_t high) {
  if (low == 0 && high == 0)
    return x;
  SmallVector<int64_t> before(n.rankOf(x), 0), after(before);
  before[dim] = low;
  after[dim] = high;
  return n.pad(x, before, after);
}

namespace {

/// The padding along dimension `dim`, which has the size `size` before the padding: `low` elements at the beginning and
/// `high` elements at the end. Negative values crop elements.
struct Copies {
  int64_t dim, low, high;
  AffineExpr size;
};

/// Returns the sum of `count` elements of `grad` from `begin` on along `dim`, which is kept with size 1.
Value sumOf(Node &n, Value grad, int64_t dim, AffineExpr begin, int64_t count) {
  return n.reduce(ReduceKind::Sum, n.sliceDim(grad, dim, begin, n.constantSize(count)), {dim}, true);
}

/// Returns the gradient along a dimension with the symbolic size `kept`. The size is at least 1, because eager raises
/// an error for replication padding of an empty dimension.
Value foldSymbolic(Node &n, Value grad, const Copies &c, AffineExpr kept) {
  Value inner = n.sliceDim(grad, c.dim, n.constantSize(c.low), kept), made = inner;
  Value position = n.alongDim(n.iota({kept}, 0, n.i64()), c.dim, n.rankOf(grad));
  auto addEdge = [&](AffineExpr begin, int64_t count, AffineExpr edge) {
    if (count == 0)
      return;
    Value isEdge = n.compare<EqOp>(position, n.indexScalar(edge, n.i64()));
    Value zero = n.scalar(0, n.elementOf(grad));
    made = n.op<AddOp>({made, n.where(isEdge, sumOf(n, grad, c.dim, begin, count), zero)});
  };
  addEdge(n.constantSize(0), c.low, n.constantSize(0));
  addEdge(canonicalSize(n.sizesIn(grad)[c.dim] - c.high), c.high, canonicalSize(kept - 1));
  return made;
}

/// Returns the gradient along a dimension if at least as many elements were cropped at one end as the dimension has.
/// Adds each element of `grad` at the index of the element that was copied.
Value foldBeyond(Node &n, Value grad, const Copies &c) {
  SmallVector<AffineExpr> sizes = n.sizesIn(grad);
  Value from = n.op<SubOp>({n.iota({sizes[c.dim]}, 0, n.i64()), n.scalarInt(c.low, n.i64())});
  Value last = n.indexScalar(canonicalSize(c.size - 1), n.i64());
  Value index = n.op<MinimumOp>({n.op<MaximumOp>({from, n.scalarInt(0, n.i64())}), last});
  sizes[c.dim] = c.size;
  Value zeros = n.broadcast(n.scalar(0, n.elementOf(grad)), sizes);
  return putAlong(n, zeros, index, grad, c.dim, ScatterKind::Add);
}

/// Returns the gradient along one dimension, which then has its size before the padding.
Value fold(Node &n, Value grad, const Copies &c) {
  const int64_t front = std::max<int64_t>(c.low, 0), back = std::max<int64_t>(c.high, 0);
  const AffineExpr length = n.sizesIn(grad)[c.dim], rest = canonicalSize(length - front - back);
  auto known = dyn_cast<AffineConstantExpr>(rest);
  if (!known) {
    n.demand(c.low >= 0 && c.high >= 0, "padding that crops a dimension of symbolic size is not supported");
    return n.failed() ? grad : foldSymbolic(n, grad, c, rest);
  }
  const int64_t kept = known.getValue();
  if (kept < 1)
    return foldBeyond(n, grad, c);
  Value made;
  if (kept == 1 && front + back > 0) {
    made = n.reduce(ReduceKind::Sum, grad, {c.dim}, true);
  } else {
    SmallVector<Value> pieces;
    const int64_t first = front + (front > 0), end = front + kept - (back > 0);
    if (front)
      pieces.push_back(sumOf(n, grad, c.dim, n.constantSize(0), front + 1));
    pieces.push_back(n.sliceDim(grad, c.dim, n.constantSize(first), n.constantSize(end - first)));
    if (back)
      pieces.push_back(sumOf(n, grad, c.dim, n.constantSize(end), back + 1));
    made = n.concat(pieces, c.dim);
  }
  return padWithZeros(n, made, c.dim, std::max<int64_t>(-c.low, 0), std::max<int64_t>(-c.high, 0));
}

/// Imports replication_padNd_backward(grad_output, self, padding). The padding begins with that of the last dimension.
template <int64_t spatial> Results gradientOfCopies(Node &n) {
  Value grad = n.tensor(0, "grad_output");
  SmallVector<int64_t> padding = n.integers(2, "padding");
  const int64_t rank = n.rankOf(grad);
  if (!n.demand(n.type() && rank == n.type().getRank() && rank > spatial, "too few dimensions") ||
      !n.demand(isa<FloatType>(n.elementOf(grad)) && isa<FloatType>(n.element()), "elements that are not floats") ||
      !n.demand(padding.size() == 2 * spatial, "its padding does not have two numbers per dimension"))
    return n.refused();
  if (n.isEmpty(grad) || n.isEmpty(n.type()))
    return n.zeros();
  Value part = n.cast(grad, n.accumulator(n.element()));
  for (int64_t i = 0; i < spatial; ++i) {
    constexpr int64_t limit = 1 << 30;
    Copies c{rank - 1 - i, padding[2 * i], padding[2 * i + 1], {}};
    c.size = sizesOf(n.type())[c.dim];
    if (!n.demand(std::max(c.low, c.high) < limit && std::min(c.low, c.high) > -limit, "its padding is out of range"))
      return n.refused();
    n.require(n.sizesIn(part)[c.dim], canonicalSize(c.size + c.low + c.high));
    part = fold(n, part, c);
    if (n.failed())
      return n.refused();
  }
  return n.reshape(n.cast(part, n.element()), n.type());
}

} // namespace

void registerPaddingGradients(Table &t) {
  t["aten.replication_pad1d_backward.default"] = gradientOfCopies<1>;
  t["aten.replication_pad2d_backward.default"] = gradientOfCopies<2>;
  t["aten.replication_pad3d_backward.default"] = gradientOfCopies<3>;
}

} // namespace tilewright
