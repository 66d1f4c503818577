//===- Attention.cpp - scaled dot product attention and its gradient ---------------------===//
//
// The forward pass becomes one tw.attention, and the backward pass becomes one tw.attention_gradient. The gradient op
// recomputes the probabilities from the saved logsumexp.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

/// The factor of the attention scores. It is a constant unless the head size is symbolic. If the head size is symbolic,
/// the factor is the value 1 / sqrt(size), by which the query is multiplied.
struct Scale {
  double constant = 1;
  Value factor; ///< in the type in which scores are accumulated; null: none
};

Scale scaleOr(Node &n, unsigned index, Value query) {
  if (n.has(index, "scale"))
    return {n.number(index, "scale"), {}};
  if (!n.demand(n.rankOf(query) > 0, "a query without dimensions"))
    return {};
  AffineExpr width = n.sizesIn(query).back();
  if (auto known = ::mlir::dyn_cast<AffineConstantExpr>(width))
    return {1.0 / std::sqrt(double(known.getValue())), {}};
  Type wide = n.accumulator(n.elementOf(query));
  return {1, n.op<DivOp>({n.scalar(1, wide), n.op<SqrtOp>({n.indexScalar(width, wide)})})};
}

/// If the scale is not constant, multiplies the query by it. Scores must be scaled before they are rounded, so the
/// scaled query is not rounded to f16 or bf16. The tensors `others` are cast to its type.
void apply(Node &n, const Scale &scale, Value &query, ArrayRef<Value *> others) {
  if (!scale.factor)
    return;
  Type wide = n.elementOf(scale.factor);
  for (Value *value : others)
    *value = n.cast(*value, wide);
  query = n.op<MulOp>({n.cast(query, wide), scale.factor}, wide);
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
  SmallVector<AffineExpr> sizes = n.sizesIn(q), rows(sizes.begin(), sizes.end() - 1);
  sizes.back() = n.sizesIn(v).back();
  if (mask && !n.elementOf(mask).isInteger(1))
    mask = n.cast(mask, n.elementOf(q));
  auto op = AttentionOp::create(
      n.builder, n.loc, TypeRange{tensorWithSizes(sizes, n.elementOf(q)), tensorWithSizes(rows, n.f32())}, q, k, v,
      mask, n.builder.getF64FloatAttr(scale.constant), causal ? n.builder.getUnitAttr() : UnitAttr());
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
  if (n.rankOf(q) != 4)
    return n.refuse("query, key and value need rank 4");
  if (n.sizesIn(q)[1] != n.sizesIn(k)[1])
    return n.refuse("grouped heads are not supported in the gradient of attention; repeat the key's heads");
  if (mask && n.rankOf(mask) > 4)
    return n.refuse("the mask has rank " + std::to_string(n.rankOf(mask)) + ", above 4");
  if (mask && !n.elementOf(mask).isInteger(1))
    mask = n.cast(mask, n.accumulator(n.elementOf(q)));
  const Type types[] = {n.elementOf(q), n.elementOf(k), n.elementOf(v)};
  apply(n, scale, q, {&k, &v, &out, &grad});
  auto op = AttentionGradientOp::create(n.builder, n.loc, TypeRange{q.getType(), k.getType(), v.getType()}, q, k, v,
                                        out, grad, n.cast(lse, n.accumulator(n.elementOf(q))), mask,
                                        n.builder.getF64FloatAttr(scale.constant),
                                        causal ? n.builder.getUnitAttr() : UnitAttr());
  Value ofQuery = op.getGradQuery();
  if (scale.factor)
    ofQuery = n.op<MulOp>({ofQuery, scale.factor}, n.elementOf(ofQuery));
  return {n.cast(ofQuery, types[0]), n.cast(op.getGradKey(), types[1]), n.cast(op.getGradValue(), types[2])};
}

} // namespace

void registerAttention(Table &t) {
  t["aten._scaled_dot_product_flash_attention_for_cpu.default"] = flashAttention;
  t["aten.scaled_dot_product_attention.default"] = plainAttention;
  t["aten._scaled_dot_product_flash_attention_for_cpu_backward.default"] = flashAttentionBackward;
}

} // namespace tilewright
