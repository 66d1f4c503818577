//===- OnnxMicrosoft.cpp - com.microsoft operators that onnxruntime's tools emit ---------===//
//
// onnxruntime's optimizers fuse operators that exporters have decomposed, such as a bias and a GELU, a residual and a
// norm, or a complete attention. The fused operators are documented in onnxruntime's docs/ContribOperators.md. Where
// the documentation is incomplete, this file follows onnxruntime's kernels.
//
// Test: test/Python/test_onnx_microsoft.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"
#include <limits>

namespace tilewright {
namespace {

//===--- activations and products ---===//

Value geluOf(OnnxNode &n, Value x, bool tanh) { return tanh ? n.op<GeluTanhOp>({x}) : n.op<GeluOp>({x}); }

template <bool tanh> Results biasedGelu(OnnxNode &n) {
  Value x = n.in(0), bias = n.optionalIn(1);
  if (n.failed())
    return n.refused();
  Value sum = bias ? n.op<AddOp>({x, bias}) : x;
  return n.failed() ? n.refused() : Results(geluOf(n, sum, tanh));
}

Results quickGelu(OnnxNode &n) {
  Value x = n.in(0);
  double alpha = n.number("alpha", 1.702);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(x);
  Value wide = n.cast(x, n.accumulator(element));
  return n.cast(n.op<MulOp>({wide, n.op<SigmoidOp>({n.op<MulOp>(wide, alpha)})}), element);
}

/// Applies the attribute `activation` of a fused product or convolution to its result `x`. "" means no activation.
Value activated(OnnxNode &n, Value x, const std::string &activation, ArrayRef<double> parameters) {
  auto parameter = [&](size_t i, double otherwise) { return i < parameters.size() ? parameters[i] : otherwise; };
  Type element = n.elementOf(x);
  if (activation.empty())
    return x;
  if (activation == "Relu")
    return n.op<ReluOp>({x});
  if (activation == "Tanh")
    return n.op<TanhOp>({x});
  if (activation == "Sigmoid")
    return n.op<SigmoidOp>({x});
  if (activation == "LeakyRelu")
    return n.where(n.compare<GtOp>(x, n.scalar(0, element)), x, n.op<MulOp>(x, parameter(0, 0.01)));
  if (activation == "Clip")
    return n.op<MinimumOp>(n.op<MaximumOp>(x, parameter(0, std::numeric_limits<float>::lowest())),
                           parameter(1, std::numeric_limits<float>::max()));
  if (activation == "HardSigmoid")
    return n.op<MinimumOp>(n.op<MaximumOp>(n.op<AddOp>(n.op<MulOp>(x, parameter(0, 0.2)), parameter(1, 0.5)), 0.0),
                           1.0);
  n.refuse("its activation '" + activation + "' is not supported");
  return x;
}

/// Moves the batch dimensions of a FusedMatMul operand, which come after the row dimension, to the front.
Value batchFirst(OnnxNode &n, Value x) {
  int64_t rank = n.rankOf(x);
  if (!n.demand(rank >= 2, "transBatchA and transBatchB need matrices"))
    return x;
  SmallVector<int64_t> order = {};
  for (int64_t dim = 1; dim < rank - 1; ++dim)
    order.push_back(dim);
  order.append({0, rank - 1});
  return n.permute(x, order);
}

Results fusedMatMul(OnnxNode &n) {
  Value a = n.in(0), b = n.in(1);
  double alpha = n.number("alpha", 1.0);
  bool transA = n.integer("transA", 0), transB = n.integer("transB", 0);
  if (n.failed())
    return n.refused();
  if (n.integer("transBatchA", 0))
    a = batchFirst(n, a);
  if (n.integer("transBatchB", 0))
    b = batchFirst(n, b);
  int64_t rankA = n.rankOf(a), rankB = n.rankOf(b);
  if (transA && rankA >= 2)
    a = n.transpose(a, rankA - 2, rankA - 1);
  if (transB && rankB >= 2)
    b = n.transpose(b, rankB - 2, rankB - 1);
  Value result = onnxProduct(n, a, b);
  if (n.failed() || alpha == 1)
    return n.failed() ? n.refused() : Results(result);
  Type element = n.elementOf(result);
  return n.cast(n.op<MulOp>(n.cast(result, n.accumulator(element)), alpha), element);
}

Results fusedGemm(OnnxNode &n) {
  Results plain = onnxTable().find("Gemm")->second(n);
  if (n.failed())
    return n.refused();
  Value result = activated(n, plain.values[0], n.text("activation"),
                           {n.number("activation_alpha", 0.01), n.number("activation_beta", 0.5)});
  return n.failed() ? n.refused() : Results(result);
}

Results gemmFastGelu(OnnxNode &n) {
  Value x = n.in(0), weight = n.in(1), bias = n.optionalIn(2);
  if (n.failed())
    return n.refused();
  Value result = onnxProduct(n, x, weight);
  if (bias && !n.failed())
    result = n.op<AddOp>({result, bias});
  return n.failed() ? n.refused() : Results(geluOf(n, result, true));
}

/// Imports FusedConv, which adds Z to Conv(X, W, B) and applies an activation.
Results fusedConv(OnnxNode &n) {
  Results plain = onnxTable().find("Conv")->second(n);
  Value more = n.optionalIn(3);
  if (n.failed())
    return n.refused();
  Value result = more ? n.op<AddOp>({plain.values[0], more}) : plain.values[0];
  SmallVector<double> parameters = n.numbers("activation_params");
  result = activated(n, result, n.text("activation"), parameters);
  return n.failed() ? n.refused() : Results(result);
}

//===--- norms ---===//

/// Normalizes rows by layer norm if `centred` is set, otherwise by RMS norm. Returns the rows, their mean (null without
/// `centred`), rstd, and `sum`.
Results normOfRows(OnnxNode &n, Value x, Value gamma, Value beta, double eps, bool centred, Value sum) {
  int64_t rank = n.rankOf(x);
  if (!n.demand(rank > 0 && n.rankOf(gamma) == 1 && (!beta || n.rankOf(beta) == 1),
                "its gamma or beta is not a vector"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x), stats = sizes;
  stats.back() = n.constantSize(1);
  RankedTensorType statistics = tensorWithSizes(stats, n.accumulator(n.elementOf(x)));
  auto rows = n.builder.getI64IntegerAttr(1);
  auto epsilon = n.builder.getF64FloatAttr(eps);
  Value result, mean, rstd;
  if (centred) {
    auto op = LayerNormOp::create(n.builder, n.loc, TypeRange{x.getType(), statistics, statistics}, x, gamma, beta,
                                  rows, epsilon);
    result = op.getResult();
    mean = op.getMean();
    rstd = op.getRstd();
  } else {
    auto op = RMSNormOp::create(n.builder, n.loc, TypeRange{x.getType(), statistics}, x, gamma, rows, epsilon);
    result = op.getResult();
    rstd = op.getRstd();
  }
  return {result, mean, rstd, sum};
}

template <bool centred> Results skipNorm(OnnxNode &n) {
  Value x = n.in(0), skip = n.in(1), gamma = n.in(2), beta = centred ? n.optionalIn(3) : Value(),
        bias = n.optionalIn(centred ? 4 : 3);
  double eps = n.number("epsilon", 1e-12);
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  Value sum = n.op<AddOp>({x, skip});
  if (bias)
    sum = n.op<AddOp>({sum, bias});
  if (!n.demand(n.rankOf(sum) == int64_t(sizes.size()), "its skip has more dimensions than its input"))
    return n.refused();
  return normOfRows(n, sum, gamma, beta, eps, centred, sum);
}

Results simplifiedNorm(OnnxNode &n) {
  Value x = n.in(0), gamma = n.in(1);
  double eps = n.number("epsilon", 1e-5);
  if (n.failed() ||
      !n.demand(n.axis(n.integer("axis", -1), n.rankOf(x)) == n.rankOf(x) - 1, "its axis is not the last dimension"))
    return n.refused();
  Results all = normOfRows(n, x, gamma, {}, eps, /*centred=*/false, {});
  return n.failed() ? n.refused() : Results({all.values[0], all.values[2]});
}

/// Imports EmbedLayerNormalization. Returns the normalized sum of the embeddings of words, positions and segments, the
/// number of unmasked words of each row (0 without a mask), and the sum.
Results embedNorm(OnnxNode &n) {
  Value ids = n.in(0), segments = n.optionalIn(1), words = n.in(2), positionTable = n.in(3),
        segmentTable = n.optionalIn(4), gamma = n.in(5), beta = n.in(6), mask = n.optionalIn(7),
        positions = n.optionalIn(8);
  double eps = n.number("epsilon", 1e-12);
  if (!n.demand(n.rankOf(ids) == 2 && n.rankOf(words) == 2 && n.rankOf(positionTable) == 2,
                "its input_ids or embedding tables are not matrices"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(ids);
  Value sum = n.take(words, ids, 0);
  Value at =
      positions ? n.take(positionTable, positions, 0) : n.sliceDim(positionTable, 0, n.constantSize(0), sizes[1]);
  sum = n.op<AddOp>({sum, at});
  if (segments && segmentTable)
    sum = n.op<AddOp>({sum, n.take(segmentTable, segments, 0)});
  Type i32 = n.builder.getI32Type();
  Value counts = n.broadcast(n.scalarInt(0, i32), {sizes[0]});
  if (mask) {
    Value ones = n.cast(n.compare<EqOp>(mask, n.scalarInt(1, n.elementOf(mask))), n.i64());
    counts = n.cast(n.reduce(ReduceKind::Sum, ones, {1}, false), i32);
  }
  Results normal = normOfRows(n, sum, gamma, beta, eps, /*centred=*/true, sum);
  return n.failed() ? n.refused() : Results({normal.values[0], counts, sum});
}

//===--- attention ---===//

/// Splits the last dimension of [B, L, H D] into heads, and returns [B, H, L, D].
Value splitHeads(OnnxNode &n, Value x, int64_t heads) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  if (!n.demand(sizes.size() == 3, "its input is not of rank 3"))
    return x;
  int64_t width = n.staticSize(x, 2);
  if (!n.demand(heads > 0 && width % heads == 0, "the hidden size is not a multiple of num_heads"))
    return x;
  return n.transpose(n.reshape(x, {sizes[0], sizes[1], n.constantSize(heads), n.constantSize(width / heads)}), 1, 2);
}

struct FusedAttention {
  Value q, k, v;     ///< B x H x L x D
  AffineExpr before; ///< P, or null without a past
  double filter = -10000;
  bool causal = false;
};

/// Returns the attention bias for a mask. onnxruntime's masks are lengths [B], ends and starts [2 B], a mask of keys
/// [B, T], or a mask of pairs of query and key, of rank 3 or 4.
Value maskBias(OnnxNode &n, const FusedAttention &a, Value mask) {
  Type element = n.elementOf(a.q);
  SmallVector<AffineExpr> m = n.sizesIn(mask);
  AffineExpr one = n.constantSize(1), batch = n.sizesIn(a.q)[0], keys = n.sizesIn(a.k)[2];
  Value seen;
  if (m.size() == 1) {
    Value key = n.iota({one, one, one, keys}, 3, n.i64());
    auto column = [&](Value lengths) { return n.reshape(n.cast(lengths, n.i64()), {batch, one, one, one}); };
    if (m[0] != canonicalSize(batch * 2) || m[0] == batch) {
      seen = n.compare<LtOp>(key, column(mask));
    } else { // the mask has the ends, followed by the starts
      Value ends = n.sliceDim(mask, 0, n.constantSize(0), batch), starts = n.sliceDim(mask, 0, batch, batch);
      seen = n.op<LogicalAndOp>({n.compare<LtOp>(key, column(ends)), n.compare<GeOp>(key, column(starts))}, n.i1());
    }
  } else {
    if (m.size() == 2)
      mask = n.reshape(mask, {m[0], one, one, m[1]});
    else if (m.size() == 3)
      mask = n.reshape(mask, {m[0], one, m[1], m[2]});
    else if (!n.demand(m.size() == 4, "its mask has more than 4 dimensions"))
      return mask;
    if (m.size() == 4) // the mask has maximum sizes; take the rows after the past
      mask = n.sliceDim(n.sliceDim(mask, 3, n.constantSize(0), keys), 2, a.before ? a.before : n.constantSize(0),
                        n.sizesIn(a.q)[2]);
    seen = n.compare<GtOp>(n.cast(mask, n.i64()), n.scalarInt(0, n.i64()));
  }
  return n.where(seen, n.scalar(0, element), n.scalar(a.filter, element));
}

/// Returns softmax(scale Q K^T + bias) V, with the heads concatenated.
Value attended(OnnxNode &n, const FusedAttention &a, Value bias, double scale) {
  Type element = n.elementOf(a.q);
  if (!n.demand(isa<FloatType>(element) && !element.isF64(), "its elements are not floats of 32 bits or fewer"))
    return a.q;
  SmallVector<AffineExpr> sizes = n.sizesIn(a.q), sums(sizes.begin(), sizes.begin() + 3);
  if (a.causal && a.before) {
    AffineExpr one = n.constantSize(1);
    SmallVector<AffineExpr> plane = {one, one, sizes[2], n.sizesIn(a.k)[2]};
    Value row = n.op<AddOp>({n.iota(plane, 2, n.i64()), n.indexScalar(a.before, n.i64())});
    Value rule = n.where(n.compare<LeOp>(n.iota(plane, 3, n.i64()), row), n.scalar(0, element),
                         n.scalar(-std::numeric_limits<double>::infinity(), element));
    bias = bias ? n.op<AddOp>({bias, rule}) : rule;
  } else if (a.causal && bias) {
    AffineExpr one = n.constantSize(1);
    SmallVector<AffineExpr> plane = {one, one, sizes[2], n.sizesIn(a.k)[2]};
    Value rule = n.where(n.compare<LeOp>(n.iota(plane, 3, n.i64()), n.iota(plane, 2, n.i64())), n.scalar(0, element),
                         n.scalar(-std::numeric_limits<double>::infinity(), element));
    bias = n.op<AddOp>({bias, rule});
  }
  const bool causal = a.causal && !bias;
  sizes[3] = n.sizesIn(a.v)[3];
  auto op = AttentionOp::create(
      n.builder, n.loc, TypeRange{tensorWithSizes(sizes, element), tensorWithSizes(sums, n.f32())}, a.q, a.k, a.v, bias,
      n.builder.getF64FloatAttr(scale), causal ? n.builder.getUnitAttr() : UnitAttr(), /*nan_rows=*/UnitAttr());
  Value result = n.transpose(op.getResult(), 1, 2);
  SmallVector<AffineExpr> joined = n.sizesIn(result);
  return n.reshape(result, {joined[0], joined[1], joined[2] * joined[3]});
}

Value added(OnnxNode &n, Value bias, Value more) { return !bias ? more : !more ? bias : n.op<AddOp>({bias, more}); }

/// Returns the factor of the scores: the attribute `scale` or, if it is 0, 1 / sqrt(width of a head).
double scaleOf(OnnxNode &n, int64_t width, int64_t heads) {
  const int64_t headWidth = width / std::max<int64_t>(heads, 1);
  const double scale = n.number("scale", 0.0);
  return scale == 0 ? 1 / std::sqrt(double(headWidth)) : scale;
}

/// Imports Attention(input, weights, bias, mask_index, past, attention_bias, past_sequence_length).
Results microsoftAttention(OnnxNode &n) {
  Value x = n.in(0), weights = n.in(1), bias = n.optionalIn(2), mask = n.optionalIn(3), past = n.optionalIn(4),
        more = n.optionalIn(5);
  int64_t heads = n.integer("num_heads");
  if (!n.demand(!n.given(6) && !n.integer("do_rotary", 0) && !n.integer("past_present_share_buffer", 0),
                "rotary embeddings, and a past and present in one buffer, are not supported") ||
      !n.demand(n.rankOf(x) == 3 && n.rankOf(weights) == 2,
                "its input is not of rank 3, or its weights are not a matrix"))
    return n.refused();
  SmallVector<int64_t> widths = n.integers("qkv_hidden_sizes");
  int64_t all = n.staticSize(weights, 1);
  if (widths.empty())
    widths.assign(3, all / 3);
  if (!n.demand(widths.size() == 3 && widths[0] > 0 && widths[2] > 0 && widths[0] == widths[1] &&
                    widths[0] + widths[1] + widths[2] == all,
                "its qkv_hidden_sizes do not fit its weights"))
    return n.refused();
  Value projected = onnxProduct(n, x, weights);
  if (bias && !n.failed())
    projected = n.op<AddOp>({projected, bias});
  if (n.failed())
    return n.refused();
  FusedAttention a;
  a.filter = n.number("mask_filter_value", -10000.0);
  a.causal = n.integer("unidirectional", 0);
  int64_t offset = 0;
  for (auto [i, part] : llvm::enumerate(std::array<Value *, 3>{&a.q, &a.k, &a.v})) {
    *part = splitHeads(n, n.sliceDim(projected, 2, n.constantSize(offset), n.constantSize(widths[i])), heads);
    offset += widths[i];
  }
  if (n.failed())
    return n.refused();
  if (past) {
    if (!n.demand(n.rankOf(past) == 5, "its past is not of rank 5"))
      return n.refused();
    a.before = n.sizesIn(past)[3];
    auto part = [&](int64_t i) {
      Value one = n.sliceDim(past, 0, n.constantSize(i), n.constantSize(1));
      return n.reshape(one, ArrayRef(n.sizesIn(one)).drop_front());
    };
    a.k = n.concat({part(0), a.k}, 2);
    a.v = n.concat({part(1), a.v}, 2);
  }
  Value scoresBias = added(n, mask ? maskBias(n, a, mask) : Value(), more);
  const double scale = scaleOf(n, widths[0], heads);
  if (n.failed())
    return n.refused();
  Value result = attended(n, a, scoresBias, scale);
  if (n.failed() || !n.wantsOutput(1))
    return n.failed() ? n.refused() : Results(result);
  return {result, n.concat({n.unsqueeze(a.k, 0), n.unsqueeze(a.v, 0)}, 0)};
}

/// Imports MultiHeadAttention(query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value).
Results multiHead(OnnxNode &n) {
  Value query = n.in(0), key = n.optionalIn(1), value = n.optionalIn(2), bias = n.optionalIn(3), mask = n.optionalIn(4),
        more = n.optionalIn(5), pastKey = n.optionalIn(6), pastValue = n.optionalIn(7);
  int64_t heads = n.integer("num_heads");
  if (!n.demand(key && value && n.rankOf(query) == 3 && n.rankOf(key) == n.rankOf(value) &&
                    (n.rankOf(key) == 3 || n.rankOf(key) == 4),
                "packed queries, keys and values are not supported") ||
      !n.demand(bool(pastKey) == bool(pastValue) && !n.given(8) && !n.given(9),
                "its past key and value, or their buffer, have an unsupported form"))
    return n.refused();
  FusedAttention a;
  a.filter = n.number("mask_filter_value", -10000.0);
  a.causal = n.integer("unidirectional", 0);
  int64_t width = n.staticSize(query, 2), offset = 0;
  auto biased = [&](Value x) {
    if (!bias || n.rankOf(x) != 3)
      return x;
    int64_t own = n.staticSize(x, 2);
    Value part = n.sliceDim(bias, 0, n.constantSize(offset), n.constantSize(own));
    offset += own;
    return n.op<AddOp>({x, part});
  };
  a.q = splitHeads(n, biased(query), heads);
  const bool split = n.rankOf(key) == 4;
  key = biased(key);
  value = biased(value);
  a.k = split ? key : splitHeads(n, key, heads);
  a.v = split ? value : splitHeads(n, value, heads);
  if (n.failed())
    return n.refused();
  if (pastKey) {
    a.before = n.sizesIn(pastKey)[2];
    a.k = n.concat({pastKey, a.k}, 2);
    a.v = n.concat({pastValue, a.v}, 2);
  }
  Value scoresBias = added(n, mask ? maskBias(n, a, mask) : Value(), more);
  const double scale = scaleOf(n, width, heads);
  if (n.failed())
    return n.refused();
  Value result = attended(n, a, scoresBias, scale);
  return n.failed() ? n.refused() : Results({result, a.k, a.v});
}

/// Imports RotaryEmbedding(input, position_ids, cos_cache, sin_cache). The caches have a row for each position.
Results microsoftRotary(OnnxNode &n) {
  Value x = n.in(0), positions = n.in(1), cosine = n.in(2), sine = n.in(3);
  bool interleaved = n.integer("interleaved", 0), flat = n.rankOf(x) == 3;
  int64_t rotated = n.integer("rotary_embedding_dim", 0), heads = n.integer("num_heads", 0);
  if (!n.demand(flat || n.rankOf(x) == 4, "its input is not of rank 3 or 4") ||
      !n.demand(n.rankOf(cosine) == 2 && n.rankOf(sine) == 2, "its caches are not matrices") ||
      !n.demand(!n.integer("is_packed_batching", 0), "packed batches are not supported"))
    return n.refused();
  int64_t half = n.staticSize(cosine, 1);
  if (flat) {
    int64_t width = n.staticSize(x, 2);
    heads = heads ? heads : width / std::max<int64_t>(1, rotated ? rotated : 2 * half);
    if (!n.demand(heads > 0 && width % heads == 0, "num_heads does not divide the hidden size"))
      return n.refused();
    x = n.reshape(x, {n.sizesIn(x)[0], n.sizesIn(x)[1], n.constantSize(heads), n.constantSize(width / heads)});
  } else {
    x = n.transpose(x, 1, 2);
  }
  SmallVector<AffineExpr> s = n.sizesIn(x); // B x S x H x D
  int64_t width = n.staticSize(x, 3);
  rotated = rotated ? rotated : width;
  if (!n.demand(rotated == 2 * half && rotated <= width, "its caches do not fit a head"))
    return n.refused();
  if (n.rankOf(positions) == 1) // the input has only the position of the first element
    positions = n.op<AddOp>({n.iota({n.constantSize(1), s[1]}, 1, n.i64()), n.cast(positions, n.i64())});
  auto angles = [&](Value cache) { return n.unsqueeze(n.take(cache, positions, 0), 2); };
  cosine = angles(cosine);
  sine = angles(sine);
  AffineExpr halfSize = n.constantSize(half), whole = n.constantSize(rotated);
  Value head = n.sliceDim(x, 3, n.constantSize(0), whole), first, second;
  SmallVector<AffineExpr> halves = {s[0], s[1], s[2], halfSize};
  if (interleaved) {
    Value pairs = n.reshape(head, {s[0], s[1], s[2], halfSize, n.constantSize(2)});
    auto part = [&](int64_t k) {
      return n.reshape(n.sliceDim(pairs, 4, n.constantSize(k), n.constantSize(1)), halves);
    };
    first = part(0);
    second = part(1);
  } else {
    first = n.sliceDim(head, 3, n.constantSize(0), halfSize);
    second = n.sliceDim(head, 3, halfSize, halfSize);
  }
  Value real = n.op<SubOp>({n.op<MulOp>({first, cosine}), n.op<MulOp>({second, sine})});
  Value imaginary = n.op<AddOp>({n.op<MulOp>({first, sine}), n.op<MulOp>({second, cosine})});
  Value result =
      interleaved ? n.reshape(n.concat({n.unsqueeze(real, 4), n.unsqueeze(imaginary, 4)}, 4), {s[0], s[1], s[2], whole})
                  : n.concat({real, imaginary}, 3);
  if (rotated < width)
    result = n.concat({result, n.sliceDim(x, 3, whole, n.constantSize(width - rotated))}, 3);
  if (n.failed())
    return n.refused();
  return flat ? n.reshape(result, {s[0], s[1], s[2] * s[3]}) : n.transpose(result, 1, 2);
}

Results expandDims(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<int64_t> axis = n.integersIn(1, "axis");
  if (!n.demand(axis.size() == 1, "it needs one axis"))
    return n.refused();
  return n.unsqueeze(x, n.axis(axis[0], n.rankOf(x) + 1));
}

} // namespace

void registerOnnxMicrosoft(OnnxTable &t) {
  t["com.microsoft.Gelu"] = biasedGelu<false>;
  t["com.microsoft.BiasGelu"] = biasedGelu<false>;
  t["com.microsoft.FastGelu"] = biasedGelu<true>;
  t["com.microsoft.QuickGelu"] = quickGelu;
  t["com.microsoft.FusedMatMul"] = fusedMatMul;
  t["com.microsoft.TransposeMatMul"] = fusedMatMul;
  t["com.microsoft.FusedGemm"] = fusedGemm;
  t["com.microsoft.GemmFastGelu"] = gemmFastGelu;
  t["com.microsoft.FusedConv"] = fusedConv;
  t["com.microsoft.SkipLayerNormalization"] = skipNorm<true>;
  t["com.microsoft.SkipSimplifiedLayerNormalization"] = skipNorm<false>;
  t["SimplifiedLayerNormalization"] = simplifiedNorm;
  t["com.microsoft.EmbedLayerNormalization"] = embedNorm;
  t["com.microsoft.Attention"] = microsoftAttention;
  t["com.microsoft.MultiHeadAttention"] = multiHead;
  t["com.microsoft.RotaryEmbedding"] = microsoftRotary;
  t["com.microsoft.ExpandDims"] = expandDims;
  t["com.microsoft.Trilu"] = t["Trilu"];
}

} // namespace tilewright
