//===- EncoderLayers.cpp - the fast path of torch.nn's transformer layers -----------------===//
//
// In inference, eager runs nn.MultiheadAttention and nn.TransformerEncoderLayer as one operator each if their arguments
// permit this fast path. These operators become matrix products, attention and norms, which are fused like those of
// other models:
//
//   attended(x)      linear(attention(heads of linear(x)))
//   encoder layer    norm2(y + forward(y)) with y = norm1(x + attended(x)), or, with norm_first,
//                    y + forward(norm2(y)) with y = x + attended(norm1(x))
//
// A mask is true for keys that are ignored. The argument `mask_type` specifies the shape of the mask: 0 is [L, S]
// (queries, keys), 1 is [B, S] (batch, keys), and 2 is [B, H, L, S] with the number of heads H. In a mask that is not
// boolean, each value except 0 is true, as in eager.
//
// Test: test/Python/ops/test_transformer_encoder_layers.py, test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Layers.h"
#include "lib/Import/ATen/Table.h"
#include <limits>

namespace tilewright {
namespace {

/// Refuses the node and returns false unless `value` has these sizes and the element type `element`.
bool demandTensor(Node &n, Value value, ArrayRef<AffineExpr> sizes, Type element) {
  return n.demand(ArrayRef(n.sizesIn(value)) == sizes && n.elementOf(value) == element,
                  "a weight or a bias is " + tensorName(n.typeOf(value)) + " instead of " +
                      tensorName(tensorWithSizes(sizes, element)));
}

/// The projections of multi-head attention.
struct HeadProjections {
  int64_t width = 1, heads = 1;
  Value weight, bias;       ///< weight and bias of queries, keys and values: [3 width, width] and [3 width]
  Value outWeight, outBias; ///< of the result
};

/// Reads the arguments from embed_dim to proj_bias, which begin at index `first`. Refuses the node if they do not fit
/// each other, or if their element type is not `element`.
HeadProjections readProjections(Node &n, unsigned first, llvm::StringRef nameOfHeads, Type element) {
  HeadProjections p;
  p.width = n.integer(first, "embed_dim"), p.heads = n.integer(first + 1, nameOfHeads);
  p.weight = n.tensor(first + 2, "qkv_weight"), p.bias = n.tensor(first + 3, "qkv_bias");
  p.outWeight = n.tensor(first + 4, "proj_weight"), p.outBias = n.tensor(first + 5, "proj_bias");
  constexpr int64_t limit = 1 << 30;
  if (!n.demand(isa<FloatType>(element), "a layer of " + dtypeName(element)) ||
      !n.demand(p.width > 0 && p.width < limit && p.heads > 0 && p.width % p.heads == 0,
                "embed_dim is not a multiple of the number of heads"))
    return p;
  AffineExpr width = n.constantSize(p.width), all = n.constantSize(3 * p.width);
  (void)(demandTensor(n, p.weight, {all, width}, element) && demandTensor(n, p.bias, {all}, element) &&
         demandTensor(n, p.outWeight, {width, width}, element) && demandTensor(n, p.outBias, {width}, element));
  return p;
}

/// Returns the argument `mask` with true for keys that are not ignored, in a shape that broadcasts to [B, H, L, S].
/// Returns null without a mask.
Value readKept(Node &n, unsigned index, unsigned indexOfKind, AffineExpr batch, AffineExpr keys) {
  Value mask = n.optionalTensor(index, "mask");
  const int64_t kind = n.integer(indexOfKind, "mask_type", -1), rank = mask ? n.rankOf(mask) : 0;
  if (!mask || !n.demand(kind >= 0 && kind <= 2, "the shape of its mask is not stated by a mask_type of 0, 1 or 2") ||
      !n.demand(rank == 2 || (kind != 1 && rank == 4),
                "its mask of rank " + llvm::Twine(rank) + " has another shape than its mask_type states"))
    return {};
  Value kept = n.op<LogicalNotOp>({n.convert(mask, n.i1())}, n.i1());
  const AffineExpr one = n.constantSize(1);
  if (kind == 1)
    return n.reshape(n.withSizes(kept, {batch, keys}), {batch, one, one, keys});
  return rank == 2 ? n.unsqueeze(n.unsqueeze(kept, 0), 0) : kept;
}

/// Splits projected rows [B, L, width] into the heads [B, H, L, width / H].
Value toHeads(Node &n, const HeadProjections &p, Value x) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  sizes.back() = n.constantSize(p.width / p.heads);
  sizes.insert(sizes.begin() + 2, n.constantSize(p.heads));
  return n.transpose(n.reshape(x, sizes), 1, 2);
}

/// Returns the heads of the projected queries, keys and values.
SmallVector<Value> projected(Node &n, const HeadProjections &p, Value query, Value key, Value value) {
  const AffineExpr width = n.constantSize(p.width);
  auto third = [&](Value x, int64_t dim, int64_t k) { return n.sliceDim(x, dim, n.constantSize(k * p.width), width); };
  const bool isSelf = query == key && key == value;
  Value all = isSelf ? linearOf(n, query, p.weight, p.bias) : Value();
  const Value operands[] = {query, key, value};
  SmallVector<Value> results;
  for (auto [k, x] : llvm::enumerate(operands))
    results.push_back(
        toHeads(n, p, isSelf ? third(all, 2, k) : linearOf(n, x, third(p.weight, 0, k), third(p.bias, 0, k))));
  return results;
}

/// Combines the heads [B, H, L, width / H] into [B, L, width], and projects the result.
Value fromHeads(Node &n, const HeadProjections &p, Value found) {
  Value rows = n.transpose(found, 1, 2);
  SmallVector<AffineExpr> sizes = n.sizesIn(rows);
  return linearOf(n, n.reshape(rows, {sizes[0], sizes[1], n.constantSize(p.width)}), p.outWeight, p.outBias);
}

/// Returns the result of multi-head attention. The weights of the keys are not stored.
Value attended(Node &n, const HeadProjections &p, Value query, Value key, Value value, Value kept) {
  SmallVector<Value> heads = projected(n, p, query, key, value);
  Value found = attentionOf(n, heads[0], heads[1], heads[2], kept);
  if (kept) { // the result of a row without keys is NaN in these operators, but 0 in attention
    Value nan = n.scalar(std::numeric_limits<double>::quiet_NaN(), n.elementOf(found));
    found = n.where(n.reduce(ReduceKind::Any, kept, {3}, true), found, nan);
  }
  return fromHeads(n, p, found);
}

/// Returns the result of multi-head attention, and the weights of the keys [B, H, L, S].
std::pair<Value, Value> attendedWithWeights(Node &n, const HeadProjections &p, Value query, Value key, Value value,
                                            Value kept) {
  SmallVector<Value> heads = projected(n, p, query, key, value);
  Type element = n.elementOf(query), compute = n.accumulator(element);
  const int64_t headWidth = p.width / p.heads;
  Value scaled = n.op<DivOp>(n.cast(heads[0], compute), std::sqrt(double(headWidth)));
  Value scores = n.matmul(n.cast(scaled, element), n.transpose(heads[1], 2, 3));
  if (kept)
    scores = n.where(kept, scores, n.scalar(-std::numeric_limits<double>::infinity(), element));
  Value weights = SoftmaxOp::create(n.builder, n.loc, scores.getType(), scores, n.builder.getI64IntegerAttr(3),
                                    UnitAttr(), UnitAttr());
  return {fromHeads(n, p, n.matmul(weights, heads[2])), weights};
}

/// Imports _native_multi_head_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight,
/// proj_bias, mask, need_weights, average_attn_weights, mask_type).
Results multiHeadAttention(Node &n) {
  Value query = n.tensor(0, "query"), key = n.tensor(1, "key"), value = n.tensor(2, "value");
  const Type element = n.elementOf(query);
  const HeadProjections p = readProjections(n, 3, "num_head", element);
  const bool needsWeights = n.flag(10, "need_weights", true), average = n.flag(11, "average_attn_weights", true);
  if (!n.demand(n.resultCount() == 2, "it gives two results"))
    return n.refused();
  if (!n.demand(n.rankOf(query) == 3 && n.sizesIn(query)[2] == n.constantSize(p.width),
                "its operands are not [batch, length, embed_dim]"))
    return n.refused();
  for (Value x : {key, value}) // as in eager
    if (!n.demand(n.agree(n.sizesIn(x), n.sizesIn(query)) && n.elementOf(x) == element,
                  "query, key and value differ in their sizes or dtypes"))
      return n.refused();
  Value kept = readKept(n, 9, 12, n.sizesIn(query)[0], n.sizesIn(key)[1]);
  auto zerosOr = [&](unsigned i) { return n.type(i) ? n.zeros(i) : Value(); };
  if (n.failed())
    return n.refused();
  if (n.isEmpty(query))
    return {zerosOr(0), zerosOr(1)};
  if (!needsWeights) {
    if (!n.demand(!n.type(1) || n.isEmpty(n.type(1)), "it gives weights that are not needed"))
      return n.refused();
    return {attended(n, p, query, key, value, kept), zerosOr(1)};
  }
  auto [result, weights] = attendedWithWeights(n, p, query, key, value, kept);
  if (average) {
    Type compute = n.accumulator(element);
    Value sum = n.reduce(ReduceKind::Sum, n.cast(weights, compute), {1}, false);
    weights = n.cast(n.op<DivOp>(sum, double(p.heads)), element);
  }
  return {result, weights};
}

/// Imports _transformer_encoder_layer_fwd(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias,
/// use_gelu, norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
/// ffn_weight_2, ffn_bias_2, mask, mask_type).
Results encoderLayer(Node &n) {
  Value src = n.tensor(0, "src");
  const Type element = n.elementOf(src);
  const HeadProjections p = readProjections(n, 1, "num_heads", element);
  const bool useGelu = n.flag(7, "use_gelu"), normFirst = n.flag(8, "norm_first");
  const double eps = n.number(9, "eps");
  const std::pair<Value, Value> norms[] = {{n.tensor(10, "norm_weight_1"), n.tensor(11, "norm_bias_1")},
                                           {n.tensor(12, "norm_weight_2"), n.tensor(13, "norm_bias_2")}};
  Value inner = n.tensor(14, "ffn_weight_1"), innerBias = n.tensor(15, "ffn_bias_1");
  Value outer = n.tensor(16, "ffn_weight_2"), outerBias = n.tensor(17, "ffn_bias_2");
  const AffineExpr width = n.constantSize(p.width);
  if (!n.demand(n.rankOf(src) == 3 && n.sizesIn(src)[2] == width, "its input is not [batch, length, embed_dim]") ||
      !n.demand(n.rankOf(inner) == 2, "a weight is not a matrix"))
    return n.refused();
  const AffineExpr hidden = n.sizesIn(inner)[0];
  for (auto [weight, bias] : norms)
    if (!demandTensor(n, weight, {width}, element) || !demandTensor(n, bias, {width}, element))
      return n.refused();
  if (!demandTensor(n, inner, {hidden, width}, element) || !demandTensor(n, innerBias, {hidden}, element) ||
      !demandTensor(n, outer, {width, hidden}, element) || !demandTensor(n, outerBias, {width}, element))
    return n.refused();
  Value kept = readKept(n, 18, 19, n.sizesIn(src)[0], n.sizesIn(src)[1]);
  if (n.failed())
    return n.refused();
  if (n.isEmpty(src))
    return n.zeros();

  auto normalized = [&](Value x, unsigned i) -> Value {
    return layerNormOf(n, x, norms[i].first, norms[i].second, 1, eps, n.accumulator(element)).getResult();
  };
  auto plusAttended = [&](Value x, Value of) { return n.op<AddOp>({x, attended(n, p, of, of, of, kept)}); };
  auto plusForward = [&](Value x, Value of) {
    Value between = linearOf(n, of, inner, innerBias);
    between = useGelu ? n.op<GeluOp>({between}) : n.op<ReluOp>({between});
    return n.op<AddOp>({x, linearOf(n, between, outer, outerBias)});
  };
  if (normFirst) {
    Value y = plusAttended(src, normalized(src, 0));
    return plusForward(y, normalized(y, 1));
  }
  Value y = normalized(plusAttended(src, src), 0);
  return normalized(plusForward(y, y), 1);
}

} // namespace

void registerEncoderLayers(Table &t) {
  t["aten._native_multi_head_attention.default"] = multiHeadAttention;
  t["aten._transformer_encoder_layer_fwd.default"] = encoderLayer;
}

} // namespace tilewright
