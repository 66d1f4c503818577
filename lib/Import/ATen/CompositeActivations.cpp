//===- CompositeActivations.cpp - activations and similar functions of plain exports -----===//
//
//   selu(x)                    elu(x, alpha, scale) with constants alpha and scale
//   cosine_similarity(a, b)    sum(a * b) / (|a| * |b|)
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

Type computeType(Node &n) { return n.accumulator(n.element()); }

Value negativeOf(Node &n, Value x) { return n.op<MinimumOp>(x, 0.0); }

/// Returns scale * x for x > 0, and scale * alpha * (exp(x) - 1) otherwise.
Results selu(Node &n) {
  constexpr double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  Value x = n.cast(n.tensor(0, "self"), computeType(n));
  if (n.failed())
    return n.refused();
  Value below = n.op<MulOp>(n.op<Expm1Op>({negativeOf(n, x)}), alpha * scale);
  Value zero = n.scalar(0, n.elementOf(x));
  return n.cast(n.where(n.compare<GtOp>(x, zero), n.op<MulOp>(x, scale), below), n.element());
}

/// Imports prelu(self, weight). The weight has one slope per channel, or a single slope.
Results preluOf(Node &n) {
  Value x = n.tensor(0, "self"), weight = n.tensor(1, "weight");
  if (!n.demand(n.rankOf(weight) <= 1, "its weight is not of rank 1"))
    return n.refused();
  bool channels = n.rankOf(weight) == 1 && n.rankOf(x) > 1 && n.sizesIn(weight)[0] != n.constantSize(1);
  Value slope = channels ? n.alongDim(weight, 1, n.rankOf(x)) : n.reshape(weight, ArrayRef<AffineExpr>());
  Type compute = computeType(n);
  Value wide = n.cast(x, compute), below = n.op<MulOp>({n.cast(slope, compute), wide});
  return n.cast(n.where(n.compare<GtOp>(wide, n.scalar(0, compute)), wide, below), n.element());
}

/// Imports log_sigmoid(self), which is the first result of log_sigmoid_forward.
Results logSigmoidOnly(Node &n) {
  return importAs(n, "aten.log_sigmoid_forward.default", {argumentOf(n, 0, "self")}, {n.type(), RankedTensorType()});
}

/// Imports rrelu(self, lower, upper, training). Only inference is supported, in which the slope is the mean of `lower`
/// and `upper`.
Results randomRelu(Node &n) {
  Value x = n.cast(n.tensor(0, "self"), computeType(n));
  double lower = n.number(1, "lower", 1.0 / 8), upper = n.number(2, "upper", 1.0 / 3);
  if (!n.demand(!n.flag(3, "training"), "random slopes: call model.eval() before the model is exported"))
    return n.refused();
  Value below = n.op<MulOp>(x, (lower + upper) / 2);
  return n.cast(n.where(n.compare<GeOp>(x, n.scalar(0, n.elementOf(x))), x, below), n.element());
}

/// Imports one_hot(self, num_classes). The number of classes is taken from the result's type, because num_classes may
/// be -1. The compiled program checks the class values at each call.
Results oneHot(Node &n) {
  Value x = n.tensor(0, "self");
  if (!n.demand(n.type().getRank() == n.rankOf(x) + 1, "its result has another rank"))
    return n.refused();
  SmallVector<AffineExpr> sizes = sizesOf(n.type());
  Value classes = n.iota(sizes, n.rankOf(x), n.i64());
  x = n.cast(x, n.i64());
  Value end = n.indexScalar(sizes.back(), n.i64());
  x = n.checked(n.compare<GeOp>(x, n.scalarInt(0, n.i64())), x, "Class values must be non-negative.");
  x = n.checked(n.compare<LtOp>(x, end), x, "Class values must be smaller than num_classes.");
  return n.cast(n.compare<EqOp>(n.unsqueeze(x, n.rankOf(x)), classes), n.element());
}

/// Imports isclose(self, other, rtol, atol, equal_nan). Two finite numbers a and b are close if
/// |a - b| <= atol + rtol * |b|. Other values are close if they are the same infinity or, with equal_nan, if both are
/// NaN.
Results isClose(Node &n) {
  Type element = n.promoted({{0, "self"}, {1, "other"}});
  Value a = n.operand(0, "self", element), b = n.operand(1, "other", element);
  double relative = n.number(2, "rtol", 1e-5), absolute = n.number(3, "atol", 1e-8);
  if (!n.demand(isa<FloatType>(element), "elements that are not floats"))
    return n.refused();
  Value difference = n.op<AbsOp>({n.op<SubOp>({a, b})});
  Value allowed = n.op<AddOp>(n.op<MulOp>(n.op<AbsOp>({b}), relative), absolute);
  Value finite = n.compare<LtOp>(difference, n.scalar(std::numeric_limits<double>::infinity(), element));
  Value near = n.op<LogicalAndOp>({finite, n.compare<LeOp>(difference, allowed)}, n.i1());
  Value close = n.op<LogicalOrOp>({n.compare<EqOp>(a, b), near}, n.i1());
  if (!n.flag(4, "equal_nan"))
    return close;
  Value both = n.op<LogicalAndOp>({n.compare<NeOp>(a, a), n.compare<NeOp>(b, b)}, n.i1());
  return n.op<LogicalOrOp>({close, both}, n.i1());
}

/// Imports cosine_similarity(x1, x2, dim, eps). Each of the two norms is clamped to at least `eps`.
Results cosineSimilarity(Node &n) {
  Type compute = computeType(n);
  Value a = n.cast(n.tensor(0, "x1"), compute), b = n.cast(n.tensor(1, "x2"), compute);
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = n.broadcastSizes({a, b});
  a = n.broadcast(a, sizes);
  b = n.broadcast(b, sizes);
  int64_t dim = n.dim(2, "dim", sizes.size(), 1);
  double eps = n.number(3, "eps", 1e-8);
  if (!n.demand(!sizes.empty(), "tensors without dimensions"))
    return n.refused();
  auto direction = [&](Value x) {
    Value square = n.reduce(ReduceKind::Sum, n.op<MulOp>({x, x}), {dim}, true);
    return n.op<DivOp>({x, n.op<MaximumOp>(n.op<SqrtOp>({square}), eps)});
  };
  return n.cast(n.reduce(ReduceKind::Sum, n.op<MulOp>({direction(a), direction(b)}), {dim}, false), n.element());
}

/// Imports aminmax(self, dim, keepdim) as two reductions.
Results leastAndGreatest(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<int64_t> dims =
      n.has(1, "dim") ? SmallVector<int64_t>{n.dim(1, "dim", n.rankOf(x))} : allDims(n.rankOf(x));
  bool keepdim = n.flag(2, "keepdim");
  if (!n.demand(n.resultCount() == 2 && n.elementOf(x) == n.ordered(n.elementOf(x)), "unsigned integers") ||
      !n.demand(llvm::none_of(n.sizesIn(x), [&](AffineExpr size) { return size == n.constantSize(0); }), "no elements"))
    return n.refused();
  return {n.reduce(ReduceKind::Min, x, dims, keepdim), n.reduce(ReduceKind::Max, x, dims, keepdim)};
}

} // namespace

void registerCompositeActivations(Table &t) {
  t["aten.selu.default"] = selu;
  t["aten.prelu.default"] = preluOf;
  t["aten.log_sigmoid.default"] = logSigmoidOnly;
  t["aten.rrelu.default"] = randomRelu;
  t["aten.one_hot.default"] = oneHot;
  t["aten.isclose.default"] = isClose;
  t["aten.cosine_similarity.default"] = cosineSimilarity;
  t["aten.aminmax.default"] = leastAndGreatest;
}

} // namespace tilewright
