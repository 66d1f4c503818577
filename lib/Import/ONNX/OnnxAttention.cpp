//===- OnnxAttention.cpp - attention and rotary embeddings ----------------------------===//
//
// Attention that computes softmax(scale * Q K^T + mask) V becomes one tw.attention. Attention is decomposed if it has a
// softcap, a window, lengths of sequences or the scores as an additional result, if it is causal and also has a cache
// or a mask, or if its elements are f64 or have different types:
//
//   scores = softcap((sqrt(scale) Q) (sqrt(scale) K)^T);  Y = softmax(scores + bias) V
//
// where the bias is -inf for masked keys. The result of a query is 0 if all keys are masked.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"
#include <limits>

namespace tilewright {
namespace {

/// Splits the last dimension of [B, L, H D] into heads, and returns [B, H, L, D].
Value headsOf(OnnxNode &n, Value x, int64_t heads) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  if (!n.demand(heads > 0, "q_num_heads and kv_num_heads must be given for inputs of rank 3"))
    return x;
  int64_t width = n.staticSize(x, 2);
  if (!n.demand(width % heads == 0, "the hidden size is not a multiple of the heads"))
    return x;
  return n.transpose(n.reshape(x, {sizes[0], sizes[1], n.constantSize(heads), n.constantSize(width / heads)}), 1, 2);
}

Value joinedHeads(OnnxNode &n, Value x) {
  x = n.transpose(x, 1, 2);
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  return n.reshape(x, {sizes[0], sizes[1], sizes[2] * sizes[3]});
}

struct AttentionInputs {
  Value q, k, v, mask, past, lengths;
  double scale = 1, softcap = 0;
  bool causal = false, flat = false;
  int64_t left = -1, right = -1, scores = 0;
  AffineExpr pastSize;
};

/// Returns a mask of the keys j to which query i may attend. The mask combines causality, the window and the lengths of
/// sequences. Returns null if the node has none of these. The index i is the position of the query in the sequence,
/// which includes the keys in the cache.
Value visible(OnnxNode &n, const AttentionInputs &a) {
  AffineExpr rows = n.sizesIn(a.q)[2], columns = n.sizesIn(a.k)[2], one = n.constantSize(1);
  SmallVector<AffineExpr> plane = {one, one, rows, columns};
  Value i = n.iota(plane, 2, n.i64()), j = n.iota(plane, 3, n.i64()), seen;
  if (a.lengths) {
    Value lengths = n.reshape(n.cast(a.lengths, n.i64()), {n.sizesIn(a.q)[0], one, one, one});
    seen = n.compare<LtOp>(j, lengths);
    i = n.op<AddOp>({i, n.op<SubOp>({lengths, n.indexScalar(rows, n.i64())})});
  } else if (a.pastSize) {
    i = n.op<AddOp>({i, n.indexScalar(a.pastSize, n.i64())});
  }
  auto also = [&](Value holds) { seen = seen ? n.op<LogicalAndOp>({seen, holds}, n.i1()) : holds; };
  if (a.causal)
    also(n.compare<LeOp>(j, i));
  if (a.left >= 0)
    also(n.compare<LeOp>(n.op<SubOp>({i, j}), n.scalarInt(a.left, n.i64())));
  if (a.right >= 0)
    also(n.compare<LeOp>(n.op<SubOp>({j, i}), n.scalarInt(a.right, n.i64())));
  return seen;
}

/// Returns the mask with rank 4. A mask that is known to have fewer than `columns` keys is padded so that the other
/// keys are masked, except a mask with one key, which is broadcast.
Value wholeMask(OnnxNode &n, Value mask, AffineExpr columns) {
  int64_t rank = n.rankOf(mask);
  if (!n.demand(rank >= 1 && rank <= 4, "its mask has more than 4 dimensions"))
    return mask;
  auto more = dyn_cast<AffineConstantExpr>(canonicalSize(columns - n.sizesIn(mask)[rank - 1]));
  if (n.sizesIn(mask)[rank - 1] == n.constantSize(1) && columns != n.constantSize(1))
    more = {};
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  if (more && more.getValue() > 0) {
    high[rank - 1] = more.getValue();
    Type element = n.elementOf(mask);
    Attribute filler = isa<FloatType>(element)
                           ? Attribute(n.builder.getFloatAttr(element, -std::numeric_limits<double>::infinity()))
                           : Attribute(n.builder.getIntegerAttr(element, 0));
    mask = n.pad(mask, low, high, filler);
  }
  SmallVector<AffineExpr> sizes = n.sizesIn(mask);
  sizes.insert(sizes.begin(), 4 - rank, n.constantSize(1));
  return n.reshape(mask, sizes);
}

Results writtenOut(OnnxNode &n, const AttentionInputs &a, Type precision) {
  Type element = n.elementOf(a.q), compute = n.accumulator(element);
  double infinity = std::numeric_limits<double>::infinity();
  int64_t heads = n.staticSize(a.q, 1), keyHeads = n.staticSize(a.k, 1);
  if (!n.demand(keyHeads > 0 && heads % keyHeads == 0, "its query heads are not a multiple of its key heads"))
    return n.refused();
  auto repeated = [&](Value x) { // returns the heads h0, h0, h1, h1, ...
    if (heads == keyHeads)
      return x;
    SmallVector<AffineExpr> s = n.sizesIn(x);
    Value repeats = n.reshape(x, {s[0], s[1], n.constantSize(1), s[2], s[3]});
    repeats = n.broadcast(repeats, {s[0], s[1], n.constantSize(heads / keyHeads), s[2], s[3]});
    return n.reshape(repeats, {s[0], n.constantSize(heads), s[2], s[3]});
  };
  double root = std::sqrt(a.scale);
  Value q = n.op<MulOp>(n.cast(a.q, compute), root), k = n.op<MulOp>(n.cast(repeated(a.k), compute), root);
  Value scores = n.matmul(q, n.transpose(k, 2, 3)), raw = scores;
  if (a.softcap > 0)
    scores = n.op<MulOp>(n.op<TanhOp>({n.op<DivOp>(scores, a.softcap)}), a.softcap);
  Value capped = scores, bias;
  if (a.mask)
    bias = n.elementOf(a.mask).isInteger(1) ? n.where(a.mask, n.scalar(0, compute), n.scalar(-infinity, compute))
                                            : n.cast(a.mask, compute);
  if (Value seen = visible(n, a)) {
    Value rule = n.where(seen, n.scalar(0, compute), n.scalar(-infinity, compute));
    bias = bias ? n.op<AddOp>({bias, rule}) : rule;
  }
  if (bias)
    scores = n.op<AddOp>({scores, bias});
  Value biased = scores;
  if (!n.demand(n.typeOf(scores).getRank() == 4 && n.agree(n.sizesIn(scores), n.sizesIn(raw)),
                "its mask does not broadcast to its scores"))
    return n.refused();
  Value shares = SoftmaxOp::create(n.builder, n.loc, scores.getType(), scores, 3, /*log=*/false, /*safe=*/true);
  if (bias) { // set to 0 the rows in which all keys are masked
    Value most = n.reduce(ReduceKind::Max, bias, {3}, true);
    shares = n.where(n.compare<EqOp>(most, n.scalar(-infinity, compute)), n.scalar(0, compute), shares);
  }
  Value result = n.matmul(shares, n.cast(repeated(a.v), compute));
  result = n.cast(result, element);
  Value shown = a.scores == 0 ? raw : a.scores == 1 ? capped : a.scores == 2 ? biased : shares;
  return {a.flat ? joinedHeads(n, result) : result, a.k, a.v, n.cast(shown, element)};
}

Results attention(OnnxNode &n) {
  AttentionInputs a;
  a.q = n.in(0);
  a.k = n.in(1);
  a.v = n.in(2);
  a.mask = n.optionalIn(3);
  Value pastKey = n.optionalIn(4), pastValue = n.optionalIn(5);
  a.lengths = n.optionalIn(6);
  a.causal = n.integer("is_causal", 0);
  a.softcap = n.number("softcap", 0.0);
  a.scores = n.integer("qk_matmul_output_mode", 0);
  a.left = n.integer("left_window_size", -1);
  a.right = n.integer("right_window_size", -1);
  int64_t rank = n.rankOf(a.q);
  if (!n.demand((rank == 3 || rank == 4) && n.rankOf(a.k) == rank && n.rankOf(a.v) == rank,
                "its query, key and value are not of rank 3 or 4") ||
      !n.demand(bool(pastKey) == bool(pastValue), "only one of its past key and past value is given"))
    return n.refused();
  if (n.attribute("softmax_precision"))
    n.elementNamed("softmax_precision");
  a.flat = rank == 3;
  if (a.flat) {
    a.q = headsOf(n, a.q, n.integer("q_num_heads", 0));
    int64_t heads = n.integer("kv_num_heads", 0);
    a.k = headsOf(n, a.k, heads);
    a.v = headsOf(n, a.v, heads);
  }
  if (n.failed())
    return n.refused();
  if (pastKey) {
    a.pastSize = n.sizesIn(pastKey)[2];
    a.k = n.concat({pastKey, a.k}, 2);
    a.v = n.concat({pastValue, a.v}, 2);
  }
  double width = double(n.staticSize(a.q, 3));
  a.scale = n.number("scale", 1 / std::sqrt(width));
  if (a.mask)
    a.mask = wholeMask(n, a.mask, n.sizesIn(a.k)[2]);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(a.q);
  bool plain = a.softcap == 0 && !a.lengths && a.left < 0 && a.right < 0 && !n.wantsOutput(3) &&
               !(a.causal && (a.pastSize || a.mask)) && isa<FloatType>(element) && !element.isF64() &&
               n.elementOf(a.k) == element && n.elementOf(a.v) == element &&
               n.staticSize(a.q, 1) % std::max<int64_t>(1, n.staticSize(a.k, 1)) == 0;
  if (!plain || n.failed())
    return n.failed() ? n.refused() : writtenOut(n, a, element);
  SmallVector<AffineExpr> sizes = n.sizesIn(a.q), sums(sizes.begin(), sizes.begin() + 3);
  sizes[3] = n.sizesIn(a.v)[3];
  auto op = AttentionOp::create(
      n.builder, n.loc, TypeRange{tensorWithSizes(sizes, element), tensorWithSizes(sums, n.f32())}, a.q, a.k, a.v,
      a.mask, n.builder.getF64FloatAttr(a.scale), a.causal ? n.builder.getUnitAttr() : UnitAttr(),
      /*nan_rows=*/UnitAttr());
  Value result = op.getResult();
  return {a.flat ? joinedHeads(n, result) : result, a.k, a.v};
}

/// Imports RotaryEmbedding, which rotates pairs of elements by an angle that depends on the position in the sequence. A
/// pair consists of one element of each half of a head, or, with `interleaved`, of two adjacent elements.
Results rotary(OnnxNode &n) {
  Value x = n.in(0), cosine = n.in(1), sine = n.in(2), positions = n.optionalIn(3);
  bool interleaved = n.integer("interleaved", 0);
  int64_t rotated = n.integer("rotary_embedding_dim", 0), heads = n.integer("num_heads", 0);
  bool flat = n.rankOf(x) == 3;
  if (!n.demand(flat || n.rankOf(x) == 4, "its input is not of rank 3 or 4"))
    return n.refused();
  Type element = n.elementOf(x);
  if (flat) {
    int64_t width = n.staticSize(x, 2);
    if (!n.demand(heads > 0 && width % heads == 0, "num_heads does not divide the hidden size"))
      return n.refused();
    x = n.reshape(x, {n.sizesIn(x)[0], n.sizesIn(x)[1], n.constantSize(heads), n.constantSize(width / heads)});
  } else {
    x = n.transpose(x, 1, 2);
  }
  int64_t width = n.staticSize(x, 3);
  rotated = rotated ? rotated : width;
  if (!n.demand(rotated > 0 && rotated % 2 == 0 && rotated <= width, "its rotary_embedding_dim does not fit a head"))
    return n.refused();
  AffineExpr half = n.constantSize(rotated / 2), whole = n.constantSize(rotated);
  SmallVector<AffineExpr> s = n.sizesIn(x);
  auto angles = [&](Value cache) {
    if (positions)
      cache = n.take(cache, positions, 0);
    if (!n.demand(n.rankOf(cache) == 3 && n.sizesIn(cache)[2] == half, "its caches do not fit a head"))
      return cache;
    return n.unsqueeze(cache, 2);
  };
  cosine = angles(cosine);
  sine = angles(sine);
  if (n.failed())
    return n.refused();
  Value head = n.sliceDim(x, 3, n.constantSize(0), whole), first, second;
  SmallVector<AffineExpr> halves = {s[0], s[1], s[2], half};
  if (interleaved) {
    Value pairs = n.reshape(head, {s[0], s[1], s[2], half, n.constantSize(2)});
    auto part = [&](int64_t k) {
      return n.reshape(n.sliceDim(pairs, 4, n.constantSize(k), n.constantSize(1)), halves);
    };
    first = part(0);
    second = part(1);
  } else {
    first = n.sliceDim(head, 3, n.constantSize(0), half);
    second = n.sliceDim(head, 3, half, half);
  }
  Value real = n.op<SubOp>({n.op<MulOp>({cosine, first}), n.op<MulOp>({sine, second})});
  Value imaginary = n.op<AddOp>({n.op<MulOp>({sine, first}), n.op<MulOp>({cosine, second})});
  Value result =
      interleaved ? n.reshape(n.concat({n.unsqueeze(real, 4), n.unsqueeze(imaginary, 4)}, 4), {s[0], s[1], s[2], whole})
                  : n.concat({real, imaginary}, 3);
  if (rotated < width)
    result = n.concat({result, n.sliceDim(x, 3, whole, n.constantSize(width - rotated))}, 3);
  result = n.cast(result, element);
  return flat ? n.reshape(result, {s[0], s[1], s[2] * s[3]}) : n.transpose(result, 1, 2);
}

} // namespace

void registerOnnxAttention(OnnxTable &t) {
  t["Attention"] = attention;
  t["RotaryEmbedding"] = rotary;
}

} // namespace tilewright
