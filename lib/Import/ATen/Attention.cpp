//===- Attention.cpp - scaled dot product attention and its gradient ---------------------===//
//
// The forward pass becomes one tw.attention, and the backward pass becomes one tw.attention_gradient. The gradient op
// recomputes the attention weights from the saved logarithms of the row sums.
//
// In float64, the backward pass consists of matrix products and a tw.softmax instead. It computes the attention weights
// from the scores alone, because torch declares the saved logarithms as float32 for all dtypes.
//
// Test: test/Python/ops/test_attention_f16_f64_and_few_rows.py, test/Python/test_cpu_attention_training.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Layers.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// The factor of the attention scores: the argument `scale`, or 1 / sqrt(head size). If the argument is missing and the
/// head size is symbolic, the factor is not a constant, and the query is multiplied by it.
struct Scale {
  double constant = 1;
  Value factor; ///< factor in the type in which scores are accumulated; null if the factor is the constant
};

/// Returns 1 / sqrt(head size).
Scale usualScale(Node &n, Value query) {
  AffineExpr width = n.sizesIn(query).back();
  if (auto known = ::mlir::dyn_cast<AffineConstantExpr>(width))
    return {1.0 / std::sqrt(double(known.getValue())), {}};
  Type wide = n.accumulator(n.elementOf(query));
  return {1, n.op<DivOp>({n.scalar(1, wide), n.op<SqrtOp>({n.indexScalar(width, wide)})})};
}

Scale scaleOr(Node &n, unsigned index, Value query) {
  if (n.has(index, "scale"))
    return {n.number(index, "scale"), {}};
  return n.demand(n.rankOf(query) > 0, "a query without dimensions") ? usualScale(n, query) : Scale();
}

/// If the scale is not constant, multiplies the query by it. Scores must be scaled before they are rounded, so the
/// scaled query is not rounded to f16 or bf16. The tensors `others` are cast to the type of the scaled query.
void apply(Node &n, const Scale &scale, Value &query, ArrayRef<Value *> others) {
  if (!scale.factor)
    return;
  Type wide = n.elementOf(scale.factor);
  for (Value *value : others)
    *value = n.cast(*value, wide);
  query = n.op<MulOp>({n.cast(query, wide), scale.factor}, wide);
}

AttentionOp emitAttention(Node &n, Value q, Value k, Value v, Value mask, double scale, bool causal) {
  SmallVector<AffineExpr> sizes = n.sizesIn(q), rows(sizes.begin(), sizes.end() - 1);
  sizes.back() = n.sizesIn(v).back();
  return AttentionOp::create(n.builder, n.loc,
                             TypeRange{tensorWithSizes(sizes, n.elementOf(q)), tensorWithSizes(rows, n.f32())}, q, k, v,
                             mask, n.builder.getF64FloatAttr(scale), causal ? n.builder.getUnitAttr() : UnitAttr(),
                             /*nan_rows=*/UnitAttr());
}

Results attend(Node &n, Value q, Value k, Value v, Value mask, Scale scale, bool causal) {
  if (n.failed())
    return n.refused();
  if (n.rankOf(q) < 2 || n.rankOf(q) > 4 || n.rankOf(k) != n.rankOf(q) || n.rankOf(v) != n.rankOf(q))
    return n.refuse("query, key and value need one rank between 2 and 4");
  const Type element = n.elementOf(q);
  apply(n, scale, q, {&k, &v});
  // Add leading dimensions of size 1 up to rank 4.
  int64_t rank = n.rankOf(q);
  auto rank4 = [&](Value value) {
    while (n.rankOf(value) < 4)
      value = n.unsqueeze(value, 0);
    return value;
  };
  q = rank4(q), k = rank4(k), v = rank4(v);
  if (mask && rank == 3 && n.rankOf(mask) == 3)
    mask = n.unsqueeze(mask, 0);
  if (mask && !n.elementOf(mask).isInteger(1))
    mask = n.cast(mask, n.elementOf(q));
  AttentionOp op = emitAttention(n, q, k, v, mask, scale.constant, causal);
  Value result = n.reshape(n.cast(op.getResult(), element), n.type(0));
  SmallVector<Value> results{result};
  if (n.resultCount() > 1)
    results.push_back(n.type(1) ? n.reshape(n.cast(op.getLogsumexp(), n.element(1)), n.type(1)) : Value());
  while (results.size() < n.resultCount())
    results.push_back({});
  return results;
}

/// Imports _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, is_causal, *, attn_mask, scale).
Results flashAttention(Node &n) {
  Value q = n.tensor(0, "query"), k = n.tensor(1, "key"), v = n.tensor(2, "value"),
        mask = n.optionalTensor(5, "attn_mask");
  if (n.number(3, "dropout_p", 0.0) != 0)
    return n.refuse("dropout inside of attention is not supported");
  bool causal = n.flag(4, "is_causal");
  return attend(n, q, k, v, mask, scaleOr(n, 6, q), causal);
}

/// Imports scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa).
Results plainAttention(Node &n) {
  Value q = n.tensor(0, "query"), k = n.tensor(1, "key"), v = n.tensor(2, "value"),
        mask = n.optionalTensor(3, "attn_mask");
  if (n.number(4, "dropout_p", 0.0) != 0)
    return n.refuse("dropout inside of attention is not supported");
  bool causal = n.flag(5, "is_causal");
  return attend(n, q, k, v, mask, scaleOr(n, 6, q), causal);
}

/// Repeats the heads of a key or value [batch, few, rows, columns] for the `heads` query heads. Adjacent query heads
/// share a head of the key.
Value withRepeatedHeads(Node &n, Value x, AffineExpr heads, int64_t share) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x), groups(sizes);
  groups.insert(groups.begin() + 2, n.constantSize(share));
  sizes[1] = heads;
  return n.reshape(n.broadcast(n.unsqueeze(x, 2), groups), sizes);
}

/// Sums the gradients of `share` query heads that share a head of the key.
Value sumOfHeads(Node &n, Value gradient, AffineExpr few, int64_t share) {
  SmallVector<AffineExpr> groups = n.sizesIn(gradient);
  groups[1] = few;
  groups.insert(groups.begin() + 2, n.constantSize(share));
  Type element = n.elementOf(gradient);
  Value wide = n.cast(n.reshape(gradient, groups), n.accumulator(element));
  return n.cast(n.reduce(ReduceKind::Sum, wide, {2}, false), element);
}

/// Computes the gradients of query, key and value from the whole matrix of attention weights.
Results gradientsOfAllPairs(Node &n, Value grad, Value q, Value k, Value v, Value out, Value mask, Scale scale,
                            bool causal) {
  apply(n, scale, q, {});
  Type element = n.elementOf(q);
  Value scores = n.op<MulOp>(n.matmul(q, n.transpose(k, 2, 3)), scale.constant);
  Value never = n.scalar(-std::numeric_limits<double>::infinity(), element);
  if (causal) {
    SmallVector<AffineExpr> plane(ArrayRef(n.sizesIn(scores)).drop_front(2));
    scores = n.where(n.compare<LeOp>(n.iota(plane, 1, n.i64()), n.iota(plane, 0, n.i64())), scores, never);
  }
  if (mask)
    scores =
        n.elementOf(mask).isInteger(1) ? n.where(mask, scores, never) : n.op<AddOp>({scores, n.cast(mask, element)});
  Value weights = SoftmaxOp::create(n.builder, n.loc, scores.getType(), scores, n.builder.getI64IntegerAttr(3),
                                    UnitAttr(), n.builder.getUnitAttr()); // 0 in a row without unmasked keys
  Value step = n.matmul(grad, n.transpose(v, 2, 3));
  Value common = n.reduce(ReduceKind::Sum, n.op<MulOp>({grad, out}), {3}, true);
  Value ofScores = n.op<MulOp>(n.op<MulOp>({weights, n.op<SubOp>({step, common})}), scale.constant);
  Value ofQuery = n.matmul(ofScores, k);
  if (scale.factor)
    ofQuery = n.op<MulOp>({ofQuery, scale.factor});
  return {ofQuery, n.matmul(n.transpose(ofScores, 2, 3), q), n.matmul(n.transpose(weights, 2, 3), grad)};
}

/// Imports _scaled_dot_product_flash_attention_for_cpu_backward(grad_out, query, key, value, out, logsumexp, dropout_p,
/// is_causal, *, attn_mask, scale).
Results flashAttentionBackward(Node &n) {
  Value grad = n.tensor(0, "grad_out"), q = n.tensor(1, "query"), k = n.tensor(2, "key"), v = n.tensor(3, "value");
  Value out = n.tensor(4, "out"), lse = n.tensor(5, "logsumexp"), mask = n.optionalTensor(8, "attn_mask");
  if (n.number(6, "dropout_p", 0.0) != 0)
    return n.refuse("dropout inside of attention is not supported");
  bool causal = n.flag(7, "is_causal");
  Scale scale = scaleOr(n, 9, q);
  if (n.failed())
    return n.refused();
  if (llvm::any_of(ArrayRef{grad, q, k, v, out}, [&](Value value) { return n.rankOf(value) != 4; }))
    return n.refuse("query, key, value, the result and its gradient need rank 4");
  if (mask && n.rankOf(mask) > 4)
    return n.refuse("the mask has rank " + std::to_string(n.rankOf(mask)) + ", above 4");
  const Type types[] = {n.elementOf(q), n.elementOf(k), n.elementOf(v)};
  const AffineExpr heads = n.sizesIn(q)[1], few = n.sizesIn(k)[1];
  int64_t share = 1; // number of query heads for each head of the key
  if (heads != few) {
    auto many = ::mlir::dyn_cast<AffineConstantExpr>(heads), one = ::mlir::dyn_cast<AffineConstantExpr>(few);
    if (!n.demand(many && one && one.getValue() > 0 && many.getValue() % one.getValue() == 0 && n.sizesIn(v)[1] == few,
                  "the number of query heads is not a known multiple of the number of key and value heads"))
      return n.refused();
    share = many.getValue() / one.getValue();
    k = withRepeatedHeads(n, k, heads, share), v = withRepeatedHeads(n, v, heads, share);
  }
  SmallVector<Value> found;
  if (n.elementOf(q).isF64()) {
    // Sizes that torch has proved equal may be different symbols.
    SmallVector<AffineExpr> keys = n.sizesIn(q), values(keys), results(keys);
    keys[2] = values[2] = n.sizesIn(k)[2];
    values[3] = results[3] = n.sizesIn(v)[3];
    k = n.withSizes(k, keys), v = n.withSizes(v, values);
    out = n.withSizes(out, results), grad = n.withSizes(grad, results);
    for (Value value : gradientsOfAllPairs(n, grad, q, k, v, out, mask, scale, causal).values)
      found.push_back(value);
  } else {
    if (mask && !n.elementOf(mask).isInteger(1))
      mask = n.cast(mask, n.accumulator(n.elementOf(q)));
    apply(n, scale, q, {&k, &v, &out, &grad});
    auto op = AttentionGradientOp::create(n.builder, n.loc, TypeRange{q.getType(), k.getType(), v.getType()}, q, k, v,
                                          out, grad, n.cast(lse, n.accumulator(n.elementOf(q))), mask,
                                          n.builder.getF64FloatAttr(scale.constant),
                                          causal ? n.builder.getUnitAttr() : UnitAttr());
    Value ofQuery = op.getGradQuery();
    if (scale.factor)
      ofQuery = n.op<MulOp>({ofQuery, scale.factor}, n.elementOf(ofQuery));
    found = {ofQuery, op.getGradKey(), op.getGradValue()};
  }
  if (share != 1)
    for (Value &ofShared : MutableArrayRef(found).drop_front())
      ofShared = sumOfHeads(n, ofShared, few, share);
  for (unsigned i = 0; i < 3; ++i) {
    found[i] = n.cast(found[i], types[i]);
    if (n.type(i)) // null if the graph does not use the gradient
      found[i] = n.withSizes(found[i], sizesOf(n.type(i)));
  }
  return found;
}

} // namespace

Value attentionOf(Node &n, Value query, Value key, Value value, Value mask) {
  const Type element = n.elementOf(query);
  const Scale scale = usualScale(n, query);
  apply(n, scale, query, {&key, &value});
  return n.cast(emitAttention(n, query, key, value, mask, scale.constant, false).getResult(), element);
}

void registerAttention(Table &t) {
  t["aten._scaled_dot_product_flash_attention_for_cpu.default"] = flashAttention;
  t["aten.scaled_dot_product_attention.default"] = plainAttention;
  t["aten._scaled_dot_product_flash_attention_for_cpu_backward.default"] = flashAttentionBackward;
}

} // namespace tilewright
