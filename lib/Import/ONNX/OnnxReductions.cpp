//===- OnnxReductions.cpp - reductions, indices of maxima, and running sums ----------===//
//
// `axes` is an attribute before operator set 13 for ReduceSum, and before operator set 18 for other reductions. In
// later operator sets, `axes` is an input. If there are no axes, all dimensions are reduced. With the attribute
// noop_with_empty_axes, no dimension is reduced in this case.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {
namespace {

struct Reduction {
  Value x;
  SmallVector<int64_t> dims;
  bool keepdims = true;
};

Reduction read(OnnxNode &n, int64_t since) {
  Reduction r;
  r.x = n.in(0);
  r.keepdims = n.integer("keepdims", 1);
  int64_t rank = n.rankOf(r.x);
  auto axes = n.axes(1, since);
  bool none = n.version >= since && n.integer("noop_with_empty_axes", 0);
  if (!axes || axes->empty())
    r.dims = none ? SmallVector<int64_t>() : allDims(rank);
  else
    for (int64_t axis : *axes)
      r.dims.push_back(n.axis(axis, rank));
  llvm::sort(r.dims);
  n.demand(std::adjacent_find(r.dims.begin(), r.dims.end()) == r.dims.end(), "an axis occurs twice");
  return r;
}

/// Returns after(reduce(before(x))), computed in f32 if x is f16 or bf16.
Results reduced(OnnxNode &n, ReduceKind kind, llvm::function_ref<Value(Value)> before,
                llvm::function_ref<Value(Value, const Reduction &)> after, int64_t since = 18) {
  Reduction r = read(n, since);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(r.x);
  Value x = before(n.cast(r.x, n.accumulator(element)));
  Value result = r.dims.empty() ? x : n.reduce(kind, x, r.dims, r.keepdims);
  return n.cast(after(result, r), element);
}

Value same(Value x) { return x; }
Value asIs(Value x, const Reduction &) { return x; }

Results reduceSum(OnnxNode &n) { return reduced(n, ReduceKind::Sum, same, asIs, 13); }
Results reduceProd(OnnxNode &n) { return reduced(n, ReduceKind::Prod, same, asIs); }
Results reduceL1(OnnxNode &n) {
  return reduced(n, ReduceKind::Sum, [&](Value x) { return n.op<AbsOp>({x}); }, asIs);
}
Value squareOf(OnnxNode &n, Value x) { return n.op<MulOp>({x, x}); }
Results reduceSumSquare(OnnxNode &n) {
  return reduced(n, ReduceKind::Sum, [&](Value x) { return squareOf(n, x); }, asIs);
}
Results reduceL2(OnnxNode &n) {
  Type element = n.elementOf(n.in(0));
  if (!isa<FloatType>(element))
    return n.refuse("the norm of integers is not supported");
  return reduced(
      n, ReduceKind::Sum, [&](Value x) { return squareOf(n, x); },
      [&](Value x, const Reduction &) { return n.op<SqrtOp>({x}); });
}
Results reduceLogSum(OnnxNode &n) {
  return reduced(n, ReduceKind::Sum, same, [&](Value x, const Reduction &) { return n.op<LogOp>({x}); });
}
Results reduceMean(OnnxNode &n) {
  return reduced(n, ReduceKind::Sum, same, [&](Value sum, const Reduction &r) -> Value {
    if (r.dims.empty())
      return sum;
    Value count = n.countAlong(r.x, r.dims, n.elementOf(sum));
    return isa<FloatType>(n.elementOf(sum)) ? n.op<DivOp>({sum, count}) : n.op<DivTruncOp>({sum, count});
  });
}

/// Imports ReduceLogSumExp. The maximum is subtracted before exp(), so that no sum overflows. If the maximum is
/// infinite, nothing is subtracted.
Results reduceLogSumExp(OnnxNode &n) {
  Reduction r = read(n, 18);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(r.x), compute = n.accumulator(element);
  if (!isa<FloatType>(element))
    return n.refuse("the logarithm of integers is not supported");
  Value x = n.cast(r.x, compute);
  if (r.dims.empty())
    return r.x;
  Value most = n.reduce(ReduceKind::Max, x, r.dims, true);
  most = n.where(n.op<IsinfOp>({most}, n.i1()), n.scalar(0, compute), most);
  Value sum = n.reduce(ReduceKind::Sum, n.op<ExpOp>({n.op<SubOp>({x, most})}), r.dims, true);
  Value result = n.op<AddOp>({n.op<LogOp>({sum}), most});
  if (!r.keepdims) {
    SmallVector<AffineExpr> sizes;
    for (auto [dim, size] : llvm::enumerate(n.sizesIn(result)))
      if (!llvm::is_contained(r.dims, int64_t(dim)))
        sizes.push_back(size);
    result = n.reshape(result, sizes);
  }
  return n.cast(result, element);
}

/// Imports ReduceMax and ReduceMin. The maximum or minimum of an empty set of floats is an infinity. Booleans are
/// reduced by "any" and "all".
template <ReduceKind kind> Results extreme(OnnxNode &n) {
  Reduction r = read(n, 18);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(r.x);
  if (r.dims.empty())
    return r.x;
  if (element.isInteger(1))
    return n.reduce(kind == ReduceKind::Max ? ReduceKind::Any : ReduceKind::All, r.x, r.dims, r.keepdims, n.i1());
  for (int64_t dim : r.dims)
    if (n.sizesIn(r.x)[dim] == n.constantSize(0)) {
      if (!isa<FloatType>(element))
        return n.refuse("the maximum or minimum of an empty integer tensor is not supported");
      SmallVector<AffineExpr> sizes;
      for (auto [i, size] : llvm::enumerate(n.sizesIn(r.x)))
        if (!llvm::is_contained(r.dims, int64_t(i)))
          sizes.push_back(size);
        else if (r.keepdims)
          sizes.push_back(n.constantSize(1));
      double end = std::numeric_limits<double>::infinity();
      return n.broadcast(n.scalar(kind == ReduceKind::Max ? -end : end, element), sizes);
    }
  return n.reduce(kind, r.x, r.dims, r.keepdims);
}

/// Imports ArgMax and ArgMin. With select_last_index, the index is computed from that of the first maximum or minimum
/// of the reversed input.
template <ReduceKind kind> Results argExtreme(OnnxNode &n) {
  Value x = n.in(0);
  int64_t dim = n.axis(n.integer("axis", 0), n.rankOf(x));
  bool keepdims = n.integer("keepdims", 1), last = n.integer("select_last_index", 0);
  if (!n.demand(n.rankOf(x) > 0, "a single number has no axis"))
    return n.refused();
  if (!isa<FloatType>(n.elementOf(x)))
    x = n.cast(x, n.ordered(n.elementOf(x)));
  if (n.failed())
    return n.refused();
  AffineExpr size = n.sizesIn(x)[dim];
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  if (keepdims)
    sizes[dim] = n.constantSize(1);
  else
    sizes.erase(sizes.begin() + dim);
  if (last)
    x = FlipOp::create(n.builder, n.loc, x.getType(), x, n.builder.getDenseI64ArrayAttr({dim}));
  Value found = ArgReduceOp::create(n.builder, n.loc, tensorWithSizes(sizes, n.i64()), x, kind, dim, keepdims);
  if (last)
    found = n.op<SubOp>({n.indexScalar(size - 1, n.i64()), found});
  return found;
}

template <ScanKind kind> Results running(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<int64_t> axes = n.integersIn(1, "axis");
  bool exclusive = n.integer("exclusive", 0), reverse = n.integer("reverse", 0);
  if (!n.demand(axes.size() == 1, "it needs one axis"))
    return n.refused();
  int64_t dim = n.axis(axes[0], n.rankOf(x));
  if (!n.demand(n.rankOf(x) > 0, "a single number has no axis"))
    return n.refused();
  Type element = n.elementOf(x);
  auto maybeReversed = [&](Value value) -> Value {
    return reverse
               ? Value(FlipOp::create(n.builder, n.loc, value.getType(), value, n.builder.getDenseI64ArrayAttr({dim})))
               : value;
  };
  Value result = maybeReversed(x);
  if (exclusive) { // shift by one element, so that the first result is the sum or product of no elements
    SmallVector<int64_t> low(n.rankOf(x), 0), high(n.rankOf(x), 0);
    low[dim] = 1;
    high[dim] = -1;
    double nothing = kind == ScanKind::Sum ? 0 : 1;
    Attribute filler = isa<FloatType>(element) ? Attribute(n.builder.getFloatAttr(element, nothing))
                                               : Attribute(n.builder.getIntegerAttr(element, int64_t(nothing)));
    result = n.pad(result, low, high, filler);
  }
  result = ScanOp::create(n.builder, n.loc, result.getType(), result, kind, dim);
  return maybeReversed(result);
}

/// Imports TopK, which returns values and i64 indices. Before operator set 10, k is an attribute.
Results topK(OnnxNode &n) {
  Value x = n.in(0);
  int64_t dim = n.axis(n.integer("axis", -1), n.rankOf(x));
  bool largest = n.integer("largest", 1);
  n.integer("sorted", 1); // only checks the attribute's type; the results are always sorted
  SmallVector<int64_t> k;
  if (n.version < 10)
    k.push_back(n.integer("k"));
  else
    k = n.integersIn(1, "k");
  if (!n.demand(k.size() == 1 && n.rankOf(x) > 0, "k is not a single number, or its input has rank 0"))
    return n.refused();
  AffineExpr all = n.sizesIn(x)[dim];
  if (auto constant = dyn_cast<AffineConstantExpr>(all))
    if (!n.demand(k[0] >= 0 && k[0] <= constant.getValue(), "k is larger than the size of the axis"))
      return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  sizes[dim] = n.constantSize(k[0]);
  Type element = n.elementOf(x);
  Value sorted = isa<FloatType>(element) ? x : n.cast(x, n.ordered(element));
  auto op = SortOp::create(n.builder, n.loc,
                           TypeRange{tensorWithSizes(sizes, n.elementOf(sorted)), tensorWithSizes(sizes, n.i64())},
                           sorted, dim, largest, n.builder.getI64IntegerAttr(k[0]));
  return {n.cast(op.getValues(), element), op.getIndices()};
}

} // namespace

void registerOnnxReductions(OnnxTable &t) {
  t["ReduceSum"] = reduceSum;
  t["ReduceProd"] = reduceProd;
  t["ReduceMean"] = reduceMean;
  t["ReduceMax"] = extreme<ReduceKind::Max>;
  t["ReduceMin"] = extreme<ReduceKind::Min>;
  t["ReduceL1"] = reduceL1;
  t["ReduceL2"] = reduceL2;
  t["ReduceSumSquare"] = reduceSumSquare;
  t["ReduceLogSum"] = reduceLogSum;
  t["ReduceLogSumExp"] = reduceLogSumExp;
  t["ArgMax"] = argExtreme<ReduceKind::Max>;
  t["ArgMin"] = argExtreme<ReduceKind::Min>;
  t["CumSum"] = running<ScanKind::Sum>;
  t["CumProd"] = running<ScanKind::Prod>;
  t["TopK"] = topK;
}

} // namespace tilewright
