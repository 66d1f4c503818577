//===- Distributions.cpp - samples computed from uniform and normal random numbers -------===//
//
// The samples are computed in f32, or in f64 for results of f64, and then rounded to the type of the result. Exceptions
// are described at the functions.
//
//   exponential  -log(1 - u) / lambda                     u: uniform in [0, 1)
//   cauchy       median + sigma * tan(pi * (u - 1/2))
//   geometric    ceil(log(1 - u) / log(1 - p)), at least 1
//   log_normal   exp(mean + std * z)                      z: normal with mean 0 and standard deviation 1
//
// multinomial without replacement, or of one sample, returns the indices of the largest p / e, where e is exponentially
// distributed (Efraimidis and Spirakis, 2006). Otherwise it searches the cumulative sums of p for uniform
// numbers.
//
// Test: test/Python/ops/test_random.py, test/Python/test_data_dependent_errors.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Random.h"
#include "lib/Import/ATen/Searches.h"
#include "lib/Import/ATen/Sorts.h"
#include "lib/Import/ATen/Table.h"
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

/// Draws uniform numbers in [0, 1). For a result of f16 or bf16, they are drawn with the precision of this type,
/// because rounding a number of f32 could return 1.
Value uniformSamples(Node &n, ArrayRef<AffineExpr> sizes, Type element) {
  const bool isHalf = isa<Float16Type, BFloat16Type>(element);
  Value drawn = drawRandom(n, RandomKind::Uniform, sizes, isHalf ? element : sampleType(n, element));
  return n.cast(drawn, sampleType(n, element));
}

Value normalSamples(Node &n, ArrayRef<AffineExpr> sizes, Type element) {
  return drawRandom(n, RandomKind::Normal, sizes, sampleType(n, element));
}

/// Refuses the call if the caller passes a generator, because only torch can draw its numbers.
bool drawsByDefault(Node &n, unsigned argument) {
  return n.demand(!n.has(argument, "generator"), "its random numbers come from a generator that the caller passes");
}

/// Returns x * factor + summand.
Value scaled(Node &n, Value x, double factor, double summand) { return n.op<AddOp>(n.op<MulOp>(x, factor), summand); }

/// Imports uniform(self, from, to).
Results uniform(Node &n) {
  const double low = n.number(1, "from", 0), high = n.number(2, "to", 1);
  if (!drawsByDefault(n, 3))
    return n.refused();
  Value u = uniformSamples(n, sizesOf(n.type()), n.element());
  return n.cast(scaled(n, u, high - low, low), n.element());
}

/// Returns exponentially distributed numbers with the mean 1. None of them is 0, because multinomial divides by them.
/// As in eager, the minimum is half of the machine epsilon of f64 for results of f64, and otherwise of f32.
Value exponentialSamples(Node &n, ArrayRef<AffineExpr> sizes, Type element) {
  Type compute = sampleType(n, element);
  Value u = drawRandom(n, RandomKind::Uniform, sizes, compute);
  const double most = element.isF64() ? -std::numeric_limits<double>::epsilon() / 2
                                      : -double(std::numeric_limits<float>::epsilon()) / 2;
  Value logarithm = n.op<Log1pOp>({n.op<NegOp>({u})});
  return n.op<NegOp>({n.op<MinimumOp>(logarithm, most)});
}

/// Imports exponential(self, lambd).
Results exponential(Node &n) {
  const double rate = n.number(1, "lambd", 1);
  if (!drawsByDefault(n, 2))
    return n.refused();
  return n.cast(n.op<DivOp>(exponentialSamples(n, sizesOf(n.type()), n.element()), rate), n.element());
}

/// Imports cauchy(self, median, sigma).
Results cauchy(Node &n) {
  const double median = n.number(1, "median", 0), sigma = n.number(2, "sigma", 1);
  if (!drawsByDefault(n, 3))
    return n.refused();
  Value angle = n.op<MulOp>(n.op<AddOp>(uniformSamples(n, sizesOf(n.type()), n.element()), -0.5), M_PI);
  return n.cast(scaled(n, n.op<TanOp>({angle}), sigma, median), n.element());
}

/// Imports geometric(self, p).
Results geometric(Node &n) {
  const double p = n.number(1, "p");
  if (!drawsByDefault(n, 2) || !n.demand(p > 0 && p < 1, "its probability is not between 0 and 1"))
    return n.refused();
  Value u = drawRandom(n, RandomKind::Uniform, sizesOf(n.type()), sampleType(n, n.element()));
  Value trials = n.op<CeilOp>({n.op<DivOp>(n.op<Log1pOp>({n.op<NegOp>({u})}), std::log1p(-p))});
  return n.cast(n.op<MaximumOp>(trials, 1.0), n.element());
}

/// Imports log_normal(self, mean, std).
Results logNormal(Node &n) {
  const double mean = n.number(1, "mean", 1), deviation = n.number(2, "std", 2);
  if (!drawsByDefault(n, 3))
    return n.refused();
  Value z = normalSamples(n, sizesOf(n.type()), n.element());
  return n.cast(n.op<ExpOp>({scaled(n, z, deviation, mean)}), n.element());
}

/// Imports normal_functional(self, mean, std) and normal.float_float(mean, std, size). `first` is the index of the
/// mean.
template <unsigned first> Results normalOfNumbers(Node &n) {
  const double mean = n.number(first, "mean", 0), deviation = n.number(first + 1, "std", 1);
  if (!drawsByDefault(n, 3))
    return n.refused();
  Value z = normalSamples(n, sizesOf(n.type()), n.element());
  return n.cast(scaled(n, z, deviation, mean), n.element());
}

/// Imports normal.Tensor_float, normal.float_Tensor and normal.Tensor_Tensor(mean, std).
Results normalOfTensors(Node &n) {
  const bool hasMeans = n.isTensor(0, "mean"), hasDeviations = n.isTensor(1, "std");
  Type compute = sampleType(n, n.element());
  if (hasDeviations && n.elementOf(n.tensor(1, "std")).isF64())
    compute = n.f64();
  Value mean = hasMeans ? n.cast(n.tensor(0, "mean"), compute) : n.scalar(n.number(0, "mean", 0), compute);
  Value deviation = hasDeviations ? n.cast(n.tensor(1, "std"), compute) : n.scalar(n.number(1, "std", 1), compute);
  if (!drawsByDefault(n, 2))
    return n.refused();
  if (hasDeviations)
    deviation = n.checked(n.compare<GeOp>(deviation, n.scalar(0, compute)), deviation,
                          "normal expects all elements of std >= 0.0");
  Value z = n.cast(normalSamples(n, sizesOf(n.type()), n.element()), compute);
  return n.cast(n.op<AddOp>({n.op<MulOp>({z, deviation}), mean}), n.element());
}

/// Imports multinomial(self, num_samples, replacement). The probabilities have the shape [k] or [rows, k].
Results multinomial(Node &n) {
  Value p = n.tensor(0, "self");
  const int64_t count = n.integer(1, "num_samples");
  const bool replacement = n.flag(2, "replacement");
  if (!drawsByDefault(n, 3) || !n.demand(n.rankOf(p) == 1 || n.rankOf(p) == 2, "its probabilities have another rank") ||
      !n.demand(isa<FloatType>(n.elementOf(p)), "its probabilities are not floats") ||
      !n.demand(count >= 0, "its number of samples is negative"))
    return n.refused();
  Type compute = sampleType(n, n.elementOf(p));
  const int64_t dim = n.rankOf(p) - 1;
  p = n.cast(p, compute);
  Value zero = n.scalar(0, compute), infinity = n.scalar(std::numeric_limits<double>::infinity(), compute);
  Value valid = n.op<LogicalAndOp>({n.compare<GeOp>(p, zero), n.compare<LtOp>(p, infinity)}, n.i1());
  Value sum = n.reduce(ReduceKind::Sum, p, {dim}, /*keepdim=*/true);
  p = n.checked(n.compare<GtOp>(sum, zero), p, "invalid multinomial distribution (sum of probabilities <= 0)");
  p = n.checked(valid, p, "probability tensor contains either `inf`, `nan` or element < 0");
  if (!replacement || count == 1) {
    Value keys = n.op<DivOp>({p, exponentialSamples(n, n.sizesIn(p), compute)});
    return sortAlong(n, keys, dim, /*descending=*/true, count).indices;
  }
  Value sums = n.scan(ScanKind::Sum, p, dim);
  AffineExpr size = n.sizesIn(p)[dim], one = n.constantSize(1);
  Value total = n.sliceDim(sums, dim, canonicalSize(size - 1), one);
  Value drawn = n.op<MulOp>({drawRandom(n, RandomKind::Uniform, sizesOf(n.type()), compute), total});
  Value found = countBefore(n, sums, drawn, /*right=*/true);
  return n.op<MinimumOp>({found, n.indexScalar(canonicalSize(size - 1), n.i64())});
}

/// Imports rrelu_with_noise_functional(self, noise, lower, upper, training). In training, each element of at most 0 has
/// a slope that is drawn from [lower, upper). The second result contains these slopes, and 1 for other elements.
Results randomizedRelu(Node &n) {
  Value x = n.tensor(0, "self"), noise = n.tensor(1, "noise");
  const double lower = n.number(2, "lower", 0.125), upper = n.number(3, "upper", 1.0 / 3);
  const bool training = n.flag(4, "training");
  if (!drawsByDefault(n, 5))
    return n.refused();
  Type element = n.element(), compute = n.accumulator(element);
  Value isNegative = n.compare<LeOp>(x, n.scalar(0, element)), wide = n.cast(x, compute);
  if (!training)
    return {n.cast(n.where(isNegative, n.op<MulOp>(wide, (lower + upper) / 2), wide), element), noise};
  Value slope = scaled(n, uniformSamples(n, n.sizesIn(x), element), upper - lower, lower);
  slope = n.convert(slope, element); // as in eager, the product uses the rounded slope
  Value product = n.op<MulOp>({wide, n.cast(slope, compute)});
  return {n.cast(n.where(isNegative, product, wide), element), n.where(isNegative, slope, n.scalar(1, element))};
}

/// Imports rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result).
Results randomizedReluBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output"), x = n.tensor(1, "self"), noise = n.tensor(2, "noise");
  const double lower = n.number(3, "lower"), upper = n.number(4, "upper");
  const bool training = n.flag(5, "training");
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.element());
  grad = n.cast(grad, compute);
  constexpr double leastRange = 1e-6; // eager ignores the noise for a smaller range of slopes (torch's Activation.cpp)
  if (training && upper - lower > leastRange)
    return n.cast(n.op<MulOp>({grad, n.cast(noise, compute)}), n.element());
  Value isPositive = n.compare<GtOp>(x, n.scalar(0, n.elementOf(x)));
  return n.cast(n.where(isPositive, grad, n.op<MulOp>(grad, (lower + upper) / 2)), n.element());
}

} // namespace

void registerDistributions(Table &t) {
  t["aten.uniform.default"] = uniform;
  t["aten.exponential.default"] = exponential;
  t["aten.cauchy.default"] = cauchy;
  t["aten.geometric.default"] = geometric;
  t["aten.log_normal.default"] = logNormal;
  t["aten.normal_functional.default"] = normalOfNumbers<1>;
  t["aten.normal.float_float"] = normalOfNumbers<0>;
  t["aten.normal.Tensor_float"] = t["aten.normal.float_Tensor"] = t["aten.normal.Tensor_Tensor"] = normalOfTensors;
  t["aten.multinomial.default"] = multinomial;
  t["aten.rrelu_with_noise_functional.default"] = randomizedRelu;
  t["aten.rrelu_with_noise_backward.default"] = randomizedReluBackward;
}

} // namespace tilewright
