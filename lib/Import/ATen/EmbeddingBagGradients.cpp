//===- EmbeddingBagGradients.cpp - gradients of bags of rows ---------------------------------===//
//
// EmbeddingBags.cpp describes bags. The gradient of the table is the sum, for each of its rows, of the gradients of the
// bags of all elements that select the row:
//
//   sum, mean    the gradient of each element's bag, times the element's weight or divided by the number of elements of
//                the bag, is added at the element's index
//   max          the gradient of each bag is added at the row that has the maximum, for each column
//
// Sums of f16 and bf16 are computed in f32 and rounded once.
//
// Test: test/Python/test_plain_exports.py, test/Python/ops/test_scatter_of_fused_producers.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/EmbeddingBags.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Returns the argument `offset2bag`, the bag of each element. Computes it from the argument `offsets` if the forward
/// pass has omitted it.
Value readBags(Node &n, unsigned index, Value indices, std::optional<unsigned> offsetsIndex) {
  Value bags = asIndex(n, n.tensor(index, "offset2bag"));
  Value offsets = offsetsIndex ? asIndex(n, n.tensor(*offsetsIndex, "offsets")) : Value();
  if (!n.demand(n.rankOf(indices) == 1 && n.rankOf(bags) == 1 && (!offsets || n.rankOf(offsets) == 1),
                "its indices, bags and offsets are not of rank 1"))
    return bags;
  if (offsets && n.isEmpty(bags) && !n.isEmpty(indices))
    bags = bagsOf(n, offsets, n.sizesIn(indices)[0]);
  if (!n.demand(n.agree(n.sizesIn(bags), n.sizesIn(indices)), "it does not have one bag per element"))
    return bags;
  return n.withSizes(bags, n.sizesIn(indices));
}

/// Imports _embedding_bag_dense_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights,
/// scale_grad_by_freq, mode, per_sample_weights, padding_idx) and, with `hasOffsets`, _embedding_bag_backward, which
/// has the arguments `offsets` after `indices` and `sparse` after `mode`. Returns the gradient of the table.
template <bool hasOffsets> Results embeddingBagBackward(Node &n) {
  constexpr unsigned shift = hasOffsets ? 1 : 0;
  if (hasOffsets && n.flag(9, "sparse"))
    return n.refuse("sparse gradients are not supported");
  // Eager's kernel divides the gradient of a row by the count of another row: it reads counts[indices_data[i]] instead
  // of counts[index] (EmbeddingBag.cpp).
  if (n.flag(6 + shift, "scale_grad_by_freq"))
    return n.refuse("scale_grad_by_freq=True is not supported");
  Value grad = n.tensor(0, "grad"), indices = asIndex(n, n.tensor(1, "indices"));
  const int64_t mode = n.integer(7 + shift, "mode"), padding = n.integer(9 + 2 * shift, "padding_idx", -1);
  Value perSample = n.optionalTensor(8 + 2 * shift, "per_sample_weights");
  if (!n.demand(n.type() && n.type().getRank() == 2 && n.rankOf(grad) == 2 && n.rankOf(indices) == 1,
                "its operands are not a gradient (rank 2) and indices (rank 1)") ||
      !n.demand(isa<FloatType>(n.element()) && isa<FloatType>(n.elementOf(grad)), "elements that are not floats") ||
      !n.demand(mode >= sumMode && mode <= maxMode, "a mode other than sum, mean and max"))
    return n.refused();
  if (n.isEmpty(n.type()) || n.isEmpty(grad) || n.isEmpty(indices))
    return n.zeros();
  const AffineExpr total = n.sizesIn(grad)[0];
  const Type compute = n.accumulator(n.element());
  Value wide = n.cast(grad, compute), zeros = n.full(n.scalar(0, compute), n.type());
  Value lengths;
  if (mode != sumMode) {
    lengths = n.cast(n.tensor(3 + shift, "bag_size"), n.i64());
    // On a GPU, `bag_size` has one entry too many if the last offset is included.
    if (n.rankOf(lengths) == 1 && n.sizesIn(lengths)[0] == canonicalSize(total + 1))
      lengths = n.sliceDim(lengths, 0, n.constantSize(0), total);
    if (!n.demand(n.agree(n.sizesIn(lengths), {total}), "it does not have one number of elements per bag"))
      return n.refused();
  }
  Value sum;
  if (mode == maxMode) {
    Value rowsOfMaxima = asIndex(n, n.tensor(4 + shift, "maximum_indices"));
    if (!n.demand(n.agree(n.sizesIn(rowsOfMaxima), n.sizesIn(grad)), "the indices of the maxima have another shape"))
      return n.refused();
    Value hasElements = n.unsqueeze(n.compare<GtOp>(lengths, n.scalarInt(0, n.i64())), 1);
    Value part = n.where(hasElements, wide, n.scalar(0, compute));
    rowsOfMaxima = n.withSizes(n.cast(rowsOfMaxima, n.i64()), n.sizesIn(part));
    sum = scatterAlong(n, zeros, rowsOfMaxima, part, 0, ScatterKind::Add);
  } else {
    Value bags = readBags(n, 2 + shift, indices, hasOffsets ? std::optional<unsigned>(2) : std::nullopt);
    if (n.failed())
      return n.refused();
    if (mode == meanMode)
      wide = n.op<DivOp>({wide, divisors(n, lengths, compute)});
    Value rows = weightedRows(n, take(n, wide, {bags}, 0, /*wraps=*/false), perSample);
    rows = withoutPadding(n, rows, indices, padding);
    if (n.failed())
      return n.refused();
    sum = putAlong(n, zeros, indices, rows, 0, ScatterKind::Add);
  }
  return n.cast(sum, n.element());
}

/// Imports _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, offset2bag, mode, padding_idx).
/// The gradient of an element's weight is the product of the gradient of its bag and the table's row.
Results perSampleWeightsBackward(Node &n) {
  Value grad = n.tensor(0, "grad"), weight = n.tensor(1, "weight"), indices = asIndex(n, n.tensor(2, "indices"));
  const int64_t mode = n.integer(5, "mode"), padding = n.integer(6, "padding_idx", -1);
  if (!n.demand(mode == sumMode, "only sums have weights of elements") ||
      !n.demand(n.type() && n.rankOf(grad) == 2 && n.rankOf(weight) == 2 && n.rankOf(indices) == 1,
                "its operands are not a gradient (rank 2), a table (rank 2) and indices (rank 1)") ||
      !n.demand(isa<FloatType>(n.element()), "elements that are not floats"))
    return n.refused();
  if (n.isEmpty(indices) || n.isEmpty(grad))
    return n.zeros();
  Value bags = readBags(n, 4, indices, 3);
  if (n.failed())
    return n.refused();
  const Type compute = n.accumulator(n.element());
  Value part = take(n, n.cast(grad, compute), {bags}, 0, /*wraps=*/false);
  Value rows = n.cast(take(n, weight, {indices}, 0, /*wraps=*/false), compute);
  Value found = n.reduce(ReduceKind::Sum, n.op<MulOp>({part, rows}), {1}, /*keepdim=*/true);
  return n.cast(n.reshape(withoutPadding(n, found, indices, padding), n.type()), n.element());
}

} // namespace

void registerEmbeddingBagGradients(Table &t) {
  t["aten._embedding_bag_dense_backward.default"] = embeddingBagBackward<false>;
  t["aten._embedding_bag_backward.default"] = embeddingBagBackward<true>;
  t["aten._embedding_bag_per_sample_weights_backward.default"] = perSampleWeightsBackward;
}

} // namespace tilewright
