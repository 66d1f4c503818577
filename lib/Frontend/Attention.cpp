//===- Attention.cpp - scaled dot product attention and its gradient ---------------------===//
//
// Forward is one tw.attention. Backward recomputes the probabilities from the saved logsumexp:
//
//   P  = exp(scale Q K^T + mask - logsumexp)      dV = P^T dO
//   dS = P * (dO V^T - sum(dO * O))               dQ = scale dS K,  dK = scale dS^T Q
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Node.h"

namespace tilewright {
namespace {

double scaleOr(Node &n, unsigned index, Value query) {
  if (n.has(index, "scale"))
    return n.number(index, "scale");
  auto width = ::mlir::dyn_cast<AffineConstantExpr>(n.sizesIn(query).back());
  if (!width) {
    n.refuse("the head size is symbolic: give a scale");
    return 1;
  }
  return 1.0 / std::sqrt(double(width.getValue()));
}

Results attend(Node &n, Value q, Value k, Value v, Value mask, double scale, bool causal) {
  if (n.failed())
    return n.refused();
  if (n.rankOf(q) < 2 || n.rankOf(q) > 4 || n.rankOf(k) != n.rankOf(q) || n.rankOf(v) != n.rankOf(q))
    return n.refuse("query, key and value need one rank between 2 and 4");
  // Missing leading dimensions are ones.
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
      mask, n.builder.getF64FloatAttr(scale), causal ? n.builder.getUnitAttr() : UnitAttr());
  Value result = n.reshape(op.getResult(), n.type(0));
  SmallVector<Value> results{result};
  if (n.resultCount() > 1)
    results.push_back(n.type(1) ? n.reshape(n.cast(op.getLogsumexp(), n.element(1)), n.type(1)) : Value());
  while (results.size() < n.resultCount())
    results.push_back({});
  return results;
}

/// _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, is_causal, *, attn_mask, scale)
Results flashAttention(Node &n) {
  Value q = n.tensor(0, "query"), k = n.tensor(1, "key"), v = n.tensor(2, "value"),
        mask = n.optionalTensor(5, "attn_mask");
  if (n.number(3, "dropout_p", 0.0) != 0)
    return n.refuse("dropout inside of attention is not supported");
  bool causal = n.flag(4, "is_causal");
  return attend(n, q, k, v, mask, scaleOr(n, 6, q), causal);
}

/// scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa)
Results plainAttention(Node &n) {
  Value q = n.tensor(0, "query"), k = n.tensor(1, "key"), v = n.tensor(2, "value"),
        mask = n.optionalTensor(3, "attn_mask");
  if (n.number(4, "dropout_p", 0.0) != 0)
    return n.refuse("dropout inside of attention is not supported");
  bool causal = n.flag(5, "is_causal");
  return attend(n, q, k, v, mask, scaleOr(n, 6, q), causal);
}

/// The batch dimensions B x H as one.
Value heads(Node &n, Value value) {
  SmallVector<AffineExpr> sizes = n.sizesIn(value);
  return n.reshape(value, {canonicalSize(sizes[0] * sizes[1]), sizes[2], sizes[3]});
}

/// (grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask, scale)
Results flashAttentionBackward(Node &n) {
  Value grad = n.tensor(0, "grad_out"), q = n.tensor(1, "query"), k = n.tensor(2, "key"), v = n.tensor(3, "value");
  Value out = n.tensor(4, "out"), lse = n.tensor(5, "logsumexp"), mask = n.optionalTensor(8, "attn_mask");
  if (n.number(6, "dropout_p", 0.0) != 0)
    return n.refuse("dropout inside of attention is not supported");
  bool causal = n.flag(7, "is_causal");
  double scale = scaleOr(n, 9, q);
  if (n.failed())
    return n.refused();
  if (n.rankOf(q) != 4)
    return n.refuse("query, key and value need rank 4");
  if (n.sizesIn(q)[1] != n.sizesIn(k)[1])
    return n.refuse("grouped heads are not supported in the gradient of attention; repeat the key's heads");
  Type element = n.elementOf(q), compute = n.accumulator(element);
  SmallVector<AffineExpr> scoreSizes = n.sizesIn(q);
  scoreSizes[3] = n.sizesIn(k)[2];

  Value q3 = heads(n, q), k3 = heads(n, k), v3 = heads(n, v), g3 = heads(n, grad);
  Value scores = n.reshape(n.matmul(q3, n.transpose(k3, 1, 2), compute), scoreSizes);
  scores = n.op<MulOp>(scores, scale);
  Value attended;
  if (causal) {
    Value row = n.iota({scoreSizes[2], n.constantSize(1)}, 0, n.i64()), column = n.iota({scoreSizes[3]}, 0, n.i64());
    attended = n.compare<LeOp>(column, row);
  }
  if (mask && n.elementOf(mask).isInteger(1))
    attended = attended ? n.op<LogicalAndOp>({attended, mask}) : mask;
  else if (mask)
    scores = n.op<AddOp>({scores, n.cast(mask, compute)});
  // A row that attends to nothing has logsumexp -inf (or the other sign in older kernels) and no gradient.
  Value rowSum = n.unsqueeze(n.cast(lse, compute), 3), zero = n.scalar(0, compute);
  Value p = n.op<ExpOp>({n.op<SubOp>({scores, rowSum})});
  p = n.where(n.op<IsinfOp>({rowSum}, n.i1()), zero, p);
  if (attended)
    p = n.where(attended, p, zero);
  Value delta = n.reduce(ReduceKind::Sum, n.op<MulOp>({n.cast(grad, compute), n.cast(out, compute)}), {3}, true);
  Value dp = n.reshape(n.matmul(g3, n.transpose(v3, 1, 2), compute), scoreSizes);
  Value ds = n.op<MulOp>(n.op<MulOp>({p, n.op<SubOp>({dp, delta})}), scale);
  Value p3 = heads(n, n.cast(p, element)), ds3 = heads(n, n.cast(ds, element));
  Value dq = n.matmul(ds3, k3), dk = n.matmul(n.transpose(ds3, 1, 2), q3), dv = n.matmul(n.transpose(p3, 1, 2), g3);
  return {n.reshape(dq, n.sizesIn(q)), n.reshape(dk, n.sizesIn(k)), n.reshape(dv, n.sizesIn(v))};
}

} // namespace

void registerAttention(Table &t) {
  t["aten._scaled_dot_product_flash_attention_for_cpu.default"] = flashAttention;
  t["aten.scaled_dot_product_attention.default"] = plainAttention;
  t["aten._scaled_dot_product_flash_attention_for_cpu_backward.default"] = flashAttentionBackward;
}

} // namespace tilewright
