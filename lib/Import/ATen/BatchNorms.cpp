//===- BatchNorms.cpp - batch normalization and its gradient -------------------------------===//
//
// In inference, the vectors `scale` and `shift`, which have one number per channel, are computed first. Each element
// then needs one multiplication and one addition:
//
//   scale = weight rstd,  shift = bias - mean scale,  y = x scale + shift
//
// In training, the mean is subtracted from x first (see normalizeCentered()).
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

/// Returns all dimensions except that of the channels, which is dimension 1.
SmallVector<int64_t> otherDims(int64_t rank) {
  SmallVector<int64_t> dims = allDims(rank);
  if (rank > 1)
    dims.erase(dims.begin() + 1);
  return dims;
}

/// Reshapes a vector with one number per channel so that it broadcasts to an input of `rank` dimensions.
Value channels(Node &n, Value vector, int64_t rank) { return n.alongDim(vector, 0, rank - 1); }

/// Returns the factor of (x - mean), which is rstd * weight.
Value scaleOf(Node &n, Value rstd, Value weight, Type compute) {
  return weight ? n.op<MulOp>({n.cast(weight, compute), rstd}) : rstd;
}

/// Computes x * scale + shift from the mean and rstd of each channel.
Value normalize(Node &n, Value x, Value mean, Value rstd, Value weight, Value bias, Type compute) {
  int64_t rank = n.rankOf(x);
  Value scale = scaleOf(n, rstd, weight, compute);
  Value offset = n.op<MulOp>({mean, scale});
  Value shift = bias ? n.op<SubOp>({n.cast(bias, compute), offset}) : n.op<NegOp>({offset});
  Value scaled = n.op<MulOp>({n.cast(x, compute), channels(n, scale, rank)});
  return n.cast(n.op<AddOp>({scaled, channels(n, shift, rank)}), n.element(0));
}

/// Computes (x - mean) * scale + bias. If all elements of a channel are nearly equal, rstd is large, and x * scale +
/// shift would have the rounding error of the large product mean * scale.
Value normalizeCentered(Node &n, Value x, Value mean, Value rstd, Value weight, Value bias, Type compute) {
  int64_t rank = n.rankOf(x);
  Value scale = scaleOf(n, rstd, weight, compute);
  Value centered = n.op<SubOp>({n.cast(x, compute), channels(n, mean, rank)});
  Value y = n.op<MulOp>({centered, channels(n, scale, rank)});
  return n.cast(bias ? n.op<AddOp>({y, channels(n, n.cast(bias, compute), rank)}) : y, n.element(0));
}

Value rstdOf(Node &n, Value variance, double eps) { return n.op<RsqrtOp>({n.op<AddOp>(variance, eps)}); }

/// Returns result `i`, which torch does not compute in inference: zeros, or null if the graph has no such result.
Value emptyResult(Node &n, unsigned i) {
  return i < n.resultCount() && n.type(i) ? n.full(n.scalar(0, n.element(i)), n.type(i)) : Value();
}

/// Imports _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps).
Results batchNormInference(Node &n) {
  Value x = n.tensor(0, "input"), weight = n.optionalTensor(1, "weight"), bias = n.optionalTensor(2, "bias");
  Value mean = n.tensor(3, "running_mean"), variance = n.tensor(4, "running_var");
  double eps = n.number(6, "eps");
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.elementOf(x));
  Value y = normalize(n, x, n.cast(mean, compute), rstdOf(n, n.cast(variance, compute), eps), weight, bias, compute);
  return {y, emptyResult(n, 1), emptyResult(n, 2)};
}

/// Imports a batch norm whose first arguments are (input, weight, bias). The callers read the other arguments, whose
/// indices differ between the overloads. The results are y, mean, rstd, and, for the functional overload, the new
/// running statistics.
Results batchNormWith(Node &n, Value runningMean, Value runningVariance, bool training, double momentum, double eps) {
  Value x = n.tensor(0, "input"), weight = n.optionalTensor(1, "weight"), bias = n.optionalTensor(2, "bias");
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.elementOf(x));
  if (!training) {
    if (!runningMean || !runningVariance)
      return n.refuse("inference without running statistics");
    Value y = normalize(n, x, n.cast(runningMean, compute), rstdOf(n, n.cast(runningVariance, compute), eps), weight,
                        bias, compute);
    return {y, emptyResult(n, 1), emptyResult(n, 2), runningMean, runningVariance};
  }
  if (!n.demand(n.rankOf(x) > 1, "a tensor without channels"))
    return n.refused();
  SmallVector<int64_t> dims = otherDims(n.rankOf(x));
  auto vector = tensorWithSizes({n.sizesIn(x)[1]}, compute);
  auto statistics = VarMeanOp::create(n.builder, n.loc, TypeRange{vector, vector}, n.cast(x, compute),
                                      n.builder.getDenseI64ArrayAttr(dims), n.builder.getF64FloatAttr(0), UnitAttr());
  Value mean = statistics.getMean(), variance = statistics.getVariance(), rstd = rstdOf(n, variance, eps);
  Value y = normalizeCentered(n, x, mean, rstd, weight, bias, compute);
  auto blend = [&](Value running, Value fresh) -> Value {
    if (!running)
      return {};
    Value old = n.op<MulOp>(n.cast(running, compute), 1.0 - momentum);
    return n.op<AddOp>({old, n.op<MulOp>(fresh, momentum)});
  };
  Value newMean, newVariance;
  if (n.resultCount() > 3) {
    Value count = n.countAlong(x, dims, compute);
    Value unbiased = n.op<MulOp>({variance, n.op<DivOp>({count, n.op<SubOp>({count, n.scalar(1, compute)})})});
    newMean = blend(runningMean, mean);
    newVariance = blend(runningVariance, unbiased);
  }
  auto saved = [&](Value value, unsigned i) {
    return i < n.resultCount() && n.type(i) ? n.cast(value, n.element(i)) : Value();
  };
  return {y, saved(mean, 1), saved(rstd, 2), newMean ? n.cast(newMean, n.element(3)) : Value(),
          newVariance ? n.cast(newVariance, n.element(4)) : Value()};
}

Results batchNormFunctional(Node &n) {
  Value mean = n.optionalTensor(3, "running_mean"), variance = n.optionalTensor(4, "running_var");
  bool training = n.flag(5, "training");
  double momentum = n.number(6, "momentum"), eps = n.number(7, "eps");
  return batchNormWith(n, mean, variance, training, momentum, eps);
}

/// Imports _native_batch_norm_legit.no_stats(input, weight, bias, training, momentum, eps), which has no running
/// statistics.
Results batchNormNoStatistics(Node &n) {
  bool training = n.flag(3, "training");
  double momentum = n.number(4, "momentum"), eps = n.number(5, "eps");
  return batchNormWith(n, {}, {}, training, momentum, eps);
}

/// Imports native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd,
/// train, eps, output_mask).
Results batchNormBackward(Node &n) {
  Value grad = n.tensor(0, "grad_out"), input = n.tensor(1, "input"), weight = n.optionalTensor(2, "weight");
  bool training = n.flag(7, "train");
  double eps = n.number(8, "eps");
  SmallVector<bool> wanted = n.flags(9, "output_mask");
  Value mean = training ? n.tensor(5, "save_mean") : n.tensor(3, "running_mean");
  Value spread = training ? n.tensor(6, "save_invstd") : n.tensor(4, "running_var");
  if (n.failed() || wanted.size() != 3)
    return n.refuse("output_mask needs three entries");
  Type compute = n.accumulator(n.elementOf(input));
  int64_t rank = n.rankOf(input);
  SmallVector<int64_t> dims = otherDims(rank);
  Value g = n.cast(grad, compute), x = n.cast(input, compute);
  mean = n.cast(mean, compute);
  Value rstd = training ? n.cast(spread, compute) : rstdOf(n, n.cast(spread, compute), eps);
  Value centered = n.op<SubOp>({x, channels(n, mean, rank)});
  Value sum = n.reduce(ReduceKind::Sum, g, dims, false);
  Value dot = n.reduce(ReduceKind::Sum, n.op<MulOp>({g, centered}), dims, false);
  Value dx, dw, db;
  if (wanted[0]) {
    Value scale = weight ? n.op<MulOp>({rstd, n.cast(weight, compute)}) : rstd;
    Value inner = g;
    if (training) {
      Value count = n.countAlong(x, dims, compute);
      Value average = n.op<DivOp>({sum, count});
      Value slope = n.op<DivOp>({n.op<MulOp>({n.op<MulOp>({rstd, rstd}), dot}), count});
      Value tilt = n.op<MulOp>({centered, channels(n, slope, rank)});
      inner = n.op<SubOp>({n.op<SubOp>({g, tilt}), channels(n, average, rank)});
    }
    dx = n.cast(n.op<MulOp>({inner, channels(n, scale, rank)}), n.element(0));
  }
  if (wanted[1] && n.type(1))
    dw = n.cast(n.op<MulOp>({dot, rstd}), n.element(1));
  if (wanted[2] && n.type(2))
    db = n.cast(sum, n.element(2));
  return {dx, dw, db};
}

} // namespace

void registerBatchNorms(Table &t) {
  t["aten._native_batch_norm_legit_no_training.default"] = batchNormInference;
  t["aten._native_batch_norm_legit_functional.default"] = batchNormFunctional;
  t["aten._native_batch_norm_legit.no_stats"] = batchNormNoStatistics;
  t["aten.native_batch_norm_backward.default"] = batchNormBackward;
}

} // namespace tilewright
