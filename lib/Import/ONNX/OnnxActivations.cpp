//===- OnnxActivations.cpp - activations, and softmax over rows ----------------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {
namespace {

/// Imports the function `f` of one operand. It is computed in f32 if the operand is f16 or bf16.
Results widened(OnnxNode &n, llvm::function_ref<Value(Value)> f) {
  Value x = n.in(0);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(x);
  Value result = f(n.cast(x, n.accumulator(element)));
  return n.failed() ? n.refused() : n.cast(result, element);
}

Value positive(OnnxNode &n, Value x) { return n.compare<GtOp>(x, n.scalar(0, n.elementOf(x))); }

Results relu(OnnxNode &n) {
  Value x = n.in(0);
  if (n.failed())
    return n.refused();
  return isa<FloatType>(n.elementOf(x)) ? n.op<ReluOp>({x}) : n.op<MaximumOp>(x, 0.0);
}

Results leakyRelu(OnnxNode &n) {
  double alpha = n.number("alpha", 0.01);
  return widened(n, [&](Value x) { return n.where(positive(n, x), x, n.op<MulOp>(x, alpha)); });
}

Results prelu(OnnxNode &n) {
  Value slope = n.in(1);
  return widened(n, [&](Value x) -> Value {
    if (n.version < 7 && n.rankOf(slope) == 1 && n.rankOf(x) > 1)
      slope = n.alongDim(slope, 1, n.rankOf(x));
    Type element = n.elementOf(x);
    if (isa<FloatType>(element) || element.isSignlessInteger())
      return n.where(n.compare<LtOp>(x, n.scalar(0, element)), n.op<MulOp>({n.cast(slope, element), x}), x);
    return x;
  });
}

/// Returns gamma * x for x > 0, and gamma * alpha * (exp(x / divisor) - 1) otherwise.
Results exponentialUnit(OnnxNode &n, double alpha, double gamma, double divisor) {
  return widened(n, [&](Value x) {
    Value inner = divisor == 1 ? x : n.op<DivOp>(x, divisor);
    Value below = n.op<MulOp>(n.op<Expm1Op>({inner}), alpha);
    Value result = n.where(positive(n, x), x, below);
    return gamma == 1 ? result : n.op<MulOp>(result, gamma);
  });
}

Results elu(OnnxNode &n) { return exponentialUnit(n, n.number("alpha", 1.0), 1, 1); }
Results selu(OnnxNode &n) {
  bool old = n.version < 6;
  double alpha = n.number("alpha", old ? 1.6732 : 1.67326319217681884765625);
  return exponentialUnit(n, alpha, n.number("gamma", old ? 1.0507 : 1.05070102214813232421875), 1);
}
Results celu(OnnxNode &n) {
  double alpha = n.number("alpha", 1.0);
  return exponentialUnit(n, alpha, 1, alpha);
}

Value hardSigmoidOf(OnnxNode &n, Value x, double alpha, double beta) {
  Value line = n.op<AddOp>(n.op<MulOp>(x, alpha), beta);
  return n.op<MinimumOp>(n.op<MaximumOp>(line, 0.0), 1.0);
}
Results hardSigmoid(OnnxNode &n) {
  double alpha = n.number("alpha", 0.2), beta = n.number("beta", 0.5);
  return widened(n, [&](Value x) { return hardSigmoidOf(n, x, alpha, beta); });
}
Results hardSwish(OnnxNode &n) {
  return widened(n, [&](Value x) { return n.op<MulOp>({x, hardSigmoidOf(n, x, 1.0 / 6, 0.5)}); });
}

Results softplus(OnnxNode &n) {
  return widened(n, [&](Value x) { // softplus(x) = max(x, 0) + log1p(e^-|x|), which does not overflow
    Value tail = n.op<Log1pOp>({n.op<ExpOp>({n.op<NegOp>({n.op<AbsOp>({x})})})});
    return n.op<AddOp>({n.op<MaximumOp>(x, 0.0), tail});
  });
}
Results softsign(OnnxNode &n) {
  return widened(n, [&](Value x) { return n.op<DivOp>({x, n.op<AddOp>(n.op<AbsOp>({x}), 1.0)}); });
}
Results mish(OnnxNode &n) {
  Value x = n.in(0);
  return n.failed() ? n.refused() : n.call("aten.mish.default", {n.ref(x)}, n.typeOf(x));
}
Results thresholdedRelu(OnnxNode &n) {
  double alpha = n.number("alpha", 1.0);
  return widened(n, [&](Value x) {
    Type element = n.elementOf(x);
    return n.where(n.compare<GtOp>(x, n.scalar(alpha, element)), x, n.scalar(0, element));
  });
}
Results shrink(OnnxNode &n) {
  double bias = n.number("bias", 0.0), lambda = n.number("lambd", 0.5);
  return widened(n, [&](Value x) {
    Type element = n.elementOf(x);
    Value low = n.compare<LtOp>(x, n.scalar(-lambda, element)), high = n.compare<GtOp>(x, n.scalar(lambda, element));
    Value above = n.where(high, n.op<SubOp>(x, bias), n.scalar(0, element));
    return n.where(low, n.op<AddOp>(x, bias), above);
  });
}
Results gelu(OnnxNode &n) {
  bool tanh = n.text("approximate", "none") == "tanh";
  Value x = n.in(0);
  if (n.failed())
    return n.refused();
  return tanh ? n.op<GeluTanhOp>({x}) : n.op<GeluOp>({x});
}

Value swishOf(OnnxNode &n, Value x, double alpha) {
  return n.op<MulOp>({x, n.op<SigmoidOp>({alpha == 1 ? x : n.op<MulOp>(x, alpha)})});
}
Results swish(OnnxNode &n) {
  double alpha = n.number("alpha", 1.0);
  return widened(n, [&](Value x) { return swishOf(n, x, alpha); });
}

Results swiGlu(OnnxNode &n) {
  Value a = n.in(0), b = n.in(1);
  double alpha = n.number("alpha", 1.0);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(a), compute = n.accumulator(element);
  Value gate = n.cast(swishOf(n, n.cast(a, compute), alpha), element);
  return n.op<MulOp>({gate, b});
}

/// Applies `f` along the axis of Softmax or a similar operator. Before operator set 13, all dimensions from `axis` on
/// are flattened to one dimension.
Results overRows(OnnxNode &n, llvm::function_ref<Value(Value, int64_t)> f) {
  Value x = n.in(0);
  bool flattens = n.version < 13;
  int64_t rank = n.rankOf(x), dim = n.axis(n.integer("axis", flattens ? 1 : -1), rank);
  if (n.failed())
    return n.refused();
  if (!flattens || rank == 0)
    return rank ? f(x, dim) : n.reshape(f(n.reshape(x, {n.constantSize(1)}), 0), n.typeOf(x));
  AffineExpr outer = n.constantSize(1), inner = n.constantSize(1);
  for (auto [i, size] : llvm::enumerate(n.sizesIn(x)))
    (int64_t(i) < dim ? outer : inner) = (int64_t(i) < dim ? outer : inner) * size;
  return n.reshape(f(n.reshape(x, {outer, inner}), 1), n.typeOf(x));
}

template <bool log> Results softmax(OnnxNode &n) {
  return overRows(n, [&](Value x, int64_t dim) -> Value {
    return SoftmaxOp::create(n.builder, n.loc, x.getType(), x, dim, log, /*safe=*/false);
  });
}

Results hardmax(OnnxNode &n) {
  return overRows(n, [&](Value x, int64_t dim) -> Value {
    SmallVector<AffineExpr> sizes = n.sizesIn(x);
    SmallVector<AffineExpr> kept = sizes;
    kept[dim] = n.constantSize(1);
    Value best = ArgReduceOp::create(n.builder, n.loc, tensorWithSizes(kept, n.i64()), x, ReduceKind::Max, dim, true);
    return n.cast(n.compare<EqOp>(n.iota(sizes, dim, n.i64()), best), n.elementOf(x));
  });
}

} // namespace

void registerOnnxActivations(OnnxTable &t) {
  t["Relu"] = relu;
  t["LeakyRelu"] = leakyRelu;
  t["PRelu"] = prelu;
  t["Elu"] = elu;
  t["Selu"] = selu;
  t["Celu"] = celu;
  t["HardSigmoid"] = hardSigmoid;
  t["HardSwish"] = hardSwish;
  t["Softplus"] = softplus;
  t["Softsign"] = softsign;
  t["Mish"] = mish;
  t["ThresholdedRelu"] = thresholdedRelu;
  t["Shrink"] = shrink;
  t["Gelu"] = gelu;
  t["Swish"] = swish;
  t["SwiGLU"] = swiGlu;
  t["Softmax"] = softmax<false>;
  t["LogSoftmax"] = softmax<true>;
  t["Hardmax"] = hardmax;
}

} // namespace tilewright
