//===- ActivationGradients.cpp - gradients of activation functions ------------------===//
//
// For f16 and bf16, all formulas are computed in f32 and rounded once.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

constexpr double rootOfHalf = 0.70710678118654752440, twoOverRootPi = 1.12837916709551257390;

Value grad(Node &n) { return n.cast(n.tensor(0, "grad_output"), n.accumulator(n.element())); }
Value saved(Node &n, llvm::StringRef name = "self") { return n.cast(n.tensor(1, name), n.accumulator(n.element())); }
Value zero(Node &n) { return n.scalar(0, n.accumulator(n.element())); }
Value done(Node &n, Value value) { return n.cast(value, n.element()); }
/// Returns 1 - x.
Value oneMinus(Node &n, Value x) { return n.op<SubOp>({n.scalar(1, n.elementOf(x)), x}); }

Results geluBackward(Node &n) {
  Value g = grad(n), x = saved(n);
  std::string approximate = n.text(2, "approximate", "none");
  if (n.failed())
    return n.refused();
  Value square = n.op<MulOp>({x, x});
  if (approximate != "tanh") { // Phi(x) + x phi(x)
    Value cdf = n.op<MulOp>(n.op<AddOp>(n.op<ErfOp>({n.op<MulOp>(x, rootOfHalf)}), 1.0), 0.5);
    Value pdf = n.op<MulOp>(n.op<ExpOp>({n.op<MulOp>(square, -0.5)}), twoOverRootPi * rootOfHalf * 0.5);
    return done(n, n.op<MulOp>({g, n.op<AddOp>({cdf, n.op<MulOp>({x, pdf})})}));
  }
  constexpr double beta = rootOfHalf * twoOverRootPi, kappa = 0.044715;
  Value inner = n.op<MulOp>(n.op<MulOp>({x, n.op<AddOp>(n.op<MulOp>(square, kappa), 1.0)}), beta);
  Value t = n.op<TanhOp>({inner});
  Value left = n.op<MulOp>(n.op<AddOp>(t, 1.0), 0.5);
  Value slope = n.op<MulOp>(n.op<AddOp>(n.op<MulOp>(square, 3 * kappa), 1.0), beta);
  Value right = n.op<MulOp>({n.op<MulOp>({n.op<MulOp>(x, 0.5), oneMinus(n, n.op<MulOp>({t, t}))}), slope});
  return done(n, n.op<MulOp>({g, n.op<AddOp>({left, right})}));
}

Results siluBackward(Node &n) {
  Value g = grad(n), x = saved(n), s = n.op<SigmoidOp>({x});
  Value slope = n.op<MulOp>({s, n.op<AddOp>(n.op<MulOp>({x, oneMinus(n, s)}), 1.0)});
  return done(n, n.op<MulOp>({g, slope}));
}

Results sigmoidBackward(Node &n) {
  Value g = grad(n), y = saved(n, "output");
  return done(n, n.op<MulOp>({g, n.op<MulOp>({oneMinus(n, y), y})}));
}

Results tanhBackward(Node &n) {
  Value g = grad(n), y = saved(n, "output");
  return done(n, n.op<MulOp>({g, oneMinus(n, n.op<MulOp>({y, y}))}));
}

/// Returns `g` where `keep` is true, and 0 elsewhere, in the result's type.
Results masked(Node &n, Value keep, Value g) { return done(n, n.where(keep, g, zero(n))); }

Results thresholdBackward(Node &n) {
  Value g = n.tensor(0, "grad_output"), x = n.tensor(1, "self");
  double threshold = n.number(2, "threshold");
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.elementOf(x)); // eager compares with the unrounded threshold
  Value small = n.compare<LeOp>(n.cast(x, compute), n.scalar(threshold, compute));
  return n.where(small, n.scalar(0, n.element()), n.cast(g, n.element()));
}

/// Returns true for the elements with low < x < high.
Value between(Node &n, Value x, double low, double high) {
  Type t = n.elementOf(x);
  return n.op<LogicalAndOp>({n.compare<GtOp>(x, n.scalar(low, t)), n.compare<LtOp>(x, n.scalar(high, t))});
}

Results hardtanhBackward(Node &n) {
  Value g = grad(n), x = saved(n);
  double low = n.number(2, "min_val"), high = n.number(3, "max_val");
  if (n.failed())
    return n.refused();
  return masked(n, between(n, x, low, high), g);
}

Results hardsigmoidBackward(Node &n) {
  Value g = grad(n), x = saved(n);
  // Eager's kernel rounds the constant 1/6 to float32 even for float64 tensors.
  return masked(n, between(n, x, -3, 3), n.op<MulOp>(g, double(1.0f / 6.0f)));
}

/// The derivative of hardswish is 0 for x <= -3, x/3 + 1/2 for x between -3 and 3, and 1 for x >= 3.
Results hardswishBackward(Node &n) {
  Value g = grad(n), x = saved(n);
  Type t = n.elementOf(x);
  Value middle = n.op<MulOp>({g, n.op<AddOp>(n.op<DivOp>(x, 3.0), 0.5)});
  Value upper = n.where(n.compare<GeOp>(x, n.scalar(3, t)), g, middle);
  return done(n, n.where(n.compare<LeOp>(x, n.scalar(-3, t)), zero(n), upper));
}

Results leakyReluBackward(Node &n) {
  Value g = grad(n), x = saved(n);
  double slope = n.number(2, "negative_slope");
  if (n.failed())
    return n.refused();
  return done(n, n.where(n.compare<GtOp>(x, zero(n)), g, n.op<MulOp>(g, slope)));
}

/// Imports elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result).
Results eluBackward(Node &n) {
  Value g = grad(n), y = n.cast(n.tensor(5, "self_or_result"), n.accumulator(n.element()));
  double alpha = n.number(1, "alpha"), scale = n.number(2, "scale"), inputScale = n.number(3, "input_scale");
  bool isResult = n.flag(4, "is_result");
  if (n.failed())
    return n.refused();
  Value positive = n.op<MulOp>(g, scale);
  Value slope = isResult ? n.op<MulOp>(n.op<AddOp>(y, alpha * scale), inputScale)
                         : n.op<MulOp>(n.op<ExpOp>({n.op<MulOp>(y, inputScale)}), inputScale * alpha * scale);
  return done(n, n.where(n.compare<GtOp>(y, zero(n)), positive, n.op<MulOp>({g, slope})));
}

Results softplusBackward(Node &n) {
  Value g = grad(n), x = saved(n);
  double beta = n.number(2, "beta"), threshold = n.number(3, "threshold");
  if (n.failed())
    return n.refused();
  Value scaled = n.op<MulOp>(x, beta);
  Value linear = n.compare<GtOp>(scaled, n.scalar(threshold, n.elementOf(x)));
  return done(n, n.where(linear, g, n.op<MulOp>({g, n.op<SigmoidOp>({scaled})})));
}

/// The derivative of mish is tanh(s) + x sigmoid(x) (1 - tanh(s)^2) with s = softplus(x).
Results mishBackward(Node &n) {
  Value g = grad(n), x = saved(n);
  Value t = n.op<TanhOp>({n.op<Log1pOp>({n.op<ExpOp>({x})})});
  Value slope = n.op<MulOp>({n.op<MulOp>({x, n.op<SigmoidOp>({x})}), oneMinus(n, n.op<MulOp>({t, t}))});
  return done(n, n.op<MulOp>({g, n.op<AddOp>({t, slope})}));
}

Results logSigmoidBackward(Node &n) {
  Value g = grad(n), x = saved(n);
  return done(n, n.op<MulOp>({g, n.op<SigmoidOp>({n.op<NegOp>({x})})}));
}

} // namespace

void registerActivationGradients(Table &t) {
  t["aten.gelu_backward.default"] = geluBackward;
  t["aten.silu_backward.default"] = siluBackward;
  t["aten.sigmoid_backward.default"] = sigmoidBackward;
  t["aten.tanh_backward.default"] = tanhBackward;
  t["aten.threshold_backward.default"] = thresholdBackward;
  t["aten.hardtanh_backward.default"] = hardtanhBackward;
  t["aten.hardsigmoid_backward.default"] = hardsigmoidBackward;
  t["aten.hardswish_backward.default"] = hardswishBackward;
  t["aten.leaky_relu_backward.default"] = leakyReluBackward;
  t["aten.elu_backward.default"] = eluBackward;
  t["aten.softplus_backward.default"] = softplusBackward;
  t["aten.mish_backward.default"] = mishBackward;
  t["aten.log_sigmoid_backward.default"] = logSigmoidBackward;
}

} // namespace tilewright
