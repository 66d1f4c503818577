//===- Activations.cpp - activation functions ------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

template <typename OpT> Results activation(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  return n.op<OpT>({n.cast(x, n.element())});
}

Results gelu(Node &n) {
  Value x = n.tensor(0, "self");
  std::string approximate = n.text(1, "approximate", "none");
  if (n.failed())
    return n.refused();
  return approximate == "tanh" ? n.op<GeluTanhOp>({x}) : n.op<GeluOp>({x});
}

/// Casts `x` to the type in which an activation is computed.
Value wide(Node &n, Value x) { return n.cast(x, n.accumulator(n.element())); }

/// Returns min(max(x + 3, 0), 6).
Value relu6OfShifted(Node &n, Value x) { return n.op<MinimumOp>(n.op<MaximumOp>(n.op<AddOp>(x, 3.0), 0.0), 6.0); }

Results hardsigmoid(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  return n.cast(n.op<DivOp>(relu6OfShifted(n, x), 6.0), n.element());
}

Results hardswish(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  return n.cast(n.op<DivOp>(n.op<MulOp>({x, relu6OfShifted(n, x)}), 6.0), n.element());
}

Results hardtanh(Node &n) {
  Value x = n.tensor(0, "self");
  double low = n.number(1, "min_val", -1.0), high = n.number(2, "max_val", 1.0);
  if (n.failed())
    return n.refused();
  return n.op<MinimumOp>(n.op<MaximumOp>(x, low), high);
}

Results relu6(Node &n) {
  Value x = n.tensor(0, "self");
  return n.op<MinimumOp>(n.op<MaximumOp>(x, 0.0), 6.0);
}

Results leakyRelu(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  double slope = n.number(1, "negative_slope", 0.01);
  if (n.failed())
    return n.refused();
  return n.cast(n.where(n.compare<GtOp>(x, n.scalar(0, n.elementOf(x))), x, n.op<MulOp>(x, slope)), n.element());
}

/// Returns scale * x for x > 0, and scale * alpha * (exp(input_scale * x) - 1) otherwise.
Results elu(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  double alpha = n.number(1, "alpha", 1.0), scale = n.number(2, "scale", 1.0),
         inputScale = n.number(3, "input_scale", 1.0);
  if (n.failed())
    return n.refused();
  Value positive = scale == 1.0 ? x : n.op<MulOp>(x, scale);
  Value negative = n.op<MulOp>(n.op<Expm1Op>({inputScale == 1.0 ? x : n.op<MulOp>(x, inputScale)}), alpha * scale);
  return n.cast(n.where(n.compare<GtOp>(x, n.scalar(0, n.elementOf(x))), positive, negative), n.element());
}

Results celu(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  double alpha = n.number(1, "alpha", 1.0);
  if (n.failed())
    return n.refused();
  Value negative = n.op<MulOp>(n.op<Expm1Op>({n.op<DivOp>(x, alpha)}), alpha);
  return n.cast(n.where(n.compare<GtOp>(x, n.scalar(0, n.elementOf(x))), x, negative), n.element());
}

/// Returns log(1 + exp(beta x)) / beta where beta x is at most the threshold, and x elsewhere.
Results softplus(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  double beta = n.number(1, "beta", 1.0), threshold = n.number(2, "threshold", 20.0);
  if (n.failed())
    return n.refused();
  Value scaled = beta == 1.0 ? x : n.op<MulOp>(x, beta);
  Value soft = n.op<Log1pOp>({n.op<ExpOp>({scaled})});
  if (beta != 1.0)
    soft = n.op<DivOp>(soft, beta);
  return n.cast(n.where(n.compare<GtOp>(scaled, n.scalar(threshold, n.elementOf(x))), x, soft), n.element());
}

Results mish(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  return n.cast(n.op<MulOp>({x, n.op<TanhOp>({n.op<Log1pOp>({n.op<ExpOp>({x})})})}), n.element());
}

/// Returns min(0, x) - log1p(exp(-|x|)). The second result is exp(-|x|), which eager's CPU kernels save for the
/// backward pass, or a tensor without elements if the type of that result has none.
Results logSigmoid(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  Value small = n.op<ExpOp>({n.op<NegOp>({n.op<AbsOp>({x})})});
  Value result = n.op<SubOp>({n.op<MinimumOp>(x, 0.0), n.op<Log1pOp>({small})});
  SmallVector<Value> results{n.cast(result, n.element())};
  if (n.resultCount() > 1) {
    bool empty = n.type(1) && n.type(1).getRank() == 1 && n.type(1).getDimSize(0) == 0;
    results.push_back(!n.type(1) ? Value()
                      : empty    ? n.full(n.scalar(0, n.element(1)), n.type(1))
                                 : n.cast(small, n.element(1)));
  }
  return results;
}

Results logit(Node &n) {
  Value x = wide(n, n.tensor(0, "self"));
  bool clamped = n.has(1, "eps");
  double eps = n.number(1, "eps", -1.0);
  if (n.failed())
    return n.refused();
  if (clamped)
    x = n.op<MinimumOp>(n.op<MaximumOp>(x, eps), 1.0 - eps);
  Value one = n.scalar(1, n.elementOf(x));
  return n.cast(n.op<LogOp>({n.op<DivOp>({x, n.op<SubOp>({one, x})})}), n.element());
}

/// Imports hardshrink(self, lambd), which sets elements whose magnitude is at most `lambd` to 0, and softshrink(self,
/// lambd), which also moves all other elements towards 0 by `lambd`. Both keep NaN.
template <bool soft> Results shrink(Node &n) {
  Value x = n.cast(n.tensor(0, "self"), n.accumulator(n.element()));
  double edge = n.number(1, "lambd", 0.5);
  if (n.failed())
    return n.refused();
  // Eager rounds hardshrink's threshold to the element type, but not softshrink's.
  auto edgeAt = [&](double at) { return n.cast(n.scalar(at, soft ? n.elementOf(x) : n.element()), n.elementOf(x)); };
  Value high = edgeAt(edge), low = edgeAt(-edge);
  Value above = soft ? n.op<SubOp>({x, high}) : x, below = soft ? n.op<SubOp>({x, low}) : x;
  Value nan = n.op<MulOp>(x, 0.0); // 0 for a finite x, and NaN if x is NaN
  Value rest = soft ? nan : n.where(n.compare<EqOp>(x, x), n.scalar(0, n.elementOf(x)), x);
  return n.cast(n.where(n.compare<GtOp>(x, high), above, n.where(n.compare<LtOp>(x, low), below, rest)), n.element());
}

/// Returns `value` for x <= threshold, and x otherwise. A NaN is returned unchanged.
Results threshold(Node &n) {
  Value x = n.tensor(0, "self");
  double bound = n.number(1, "threshold"), value = n.number(2, "value");
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.elementOf(x)); // eager compares with the unrounded threshold
  Value small = n.compare<LeOp>(n.cast(x, compute), n.scalar(bound, compute));
  return n.where(small, n.broadcast(n.scalar(value, n.elementOf(x)), n.sizesIn(x)), x);
}

/// Returns x for x > 0, and weight * x otherwise. There is one weight in total, or one weight per channel.
Results prelu(Node &n) {
  Value x = n.tensor(0, "self"), weight = n.tensor(1, "weight");
  if (n.failed())
    return n.refused();
  return n.where(n.compare<GtOp>(x, n.scalar(0, n.elementOf(x))), x, n.op<MulOp>({x, weight}));
}

/// Returns a * sigmoid(b), where a and b are the two halves of x along `dim`.
Results glu(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x), -1);
  if (!n.demand(n.rankOf(x) > 0 && n.type().getRank() == n.rankOf(x), "halves have their tensor's rank"))
    return n.refused();
  AffineExpr half = sizesOf(n.type())[dim];
  Value a = wide(n, n.sliceDim(x, dim, n.constantSize(0), half)), b = wide(n, n.sliceDim(x, dim, half, half));
  return n.cast(n.op<MulOp>({a, n.op<SigmoidOp>({b})}), n.element());
}

/// Returns sin(pi x) / (pi x), and 1 for x = 0.
Results sinc(Node &n) {
  Value x = wide(n, n.cast(n.tensor(0, "self"), n.element()));
  Value angle = n.op<MulOp>(x, 3.14159265358979323846);
  Value isZero = n.compare<EqOp>(x, n.scalar(0, n.elementOf(x)));
  Value ratio = n.op<DivOp>({n.op<SinOp>({angle}), angle});
  return n.cast(n.where(isZero, n.broadcast(n.scalar(1, n.elementOf(x)), n.sizesIn(x)), ratio), n.element());
}

} // namespace

void registerActivations(Table &t) {
  t["aten.relu.default"] = activation<ReluOp>;
  t["aten.sigmoid.default"] = activation<SigmoidOp>;
  t["aten.silu.default"] = activation<SiluOp>;
  t["aten.gelu.default"] = gelu;
  t["aten.hardsigmoid.default"] = hardsigmoid;
  t["aten.hardswish.default"] = hardswish;
  t["aten.hardtanh.default"] = hardtanh;
  t["aten.relu6.default"] = relu6;
  t["aten.leaky_relu.default"] = leakyRelu;
  t["aten.elu.default"] = elu;
  t["aten.celu.default"] = celu;
  t["aten.softplus.default"] = softplus;
  t["aten.mish.default"] = mish;
  t["aten.log_sigmoid_forward.default"] = logSigmoid;
  t["aten.logit.default"] = logit;
  t["aten.threshold.default"] = threshold;
  t["aten.hardshrink.default"] = shrink<false>;
  t["aten.softshrink.default"] = shrink<true>;
  t["aten._prelu_kernel.default"] = prelu;
  t["aten.glu.default"] = glu;
  t["aten.sinc.default"] = sinc;
}

} // namespace tilewright
