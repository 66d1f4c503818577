//===- Surrogate.cpp - a Gaussian process over a schedule space --------------------------===//
//
// Test: test/Unit/Tuner/SearchTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Surrogate.h"
#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright::tuner {

/// Standard deviation of the logarithm of repeated measurements of one schedule.
static constexpr double noise = 0.02;
/// Candidate values of hyperparameters; the first value of each list is the initial one.
static constexpr double scaleValues[] = {0.6, 0.2, 0.35, 1.2, 4}, beliefValues[] = {1, 0.5, 0};
static constexpr size_t fewestForScales = 24;

Surrogate::Surrogate(const Searched &kernel, const std::vector<size_t> &numbers, const std::vector<double> &ratios)
    : kernel(kernel), numbers(numbers) {
  for (const SchedulePoint &point : kernel.points) {
    std::vector<double> &row = features.emplace_back();
    for (size_t i = 0; i < point.size(); ++i) {
      const std::vector<int64_t> &values = kernel.space.knobs[i].values;
      auto position = std::lower_bound(values.begin(), values.end(), point[i]);
      row.push_back(values.size() < 2 ? 0 : double(position - values.begin()) / double(values.size() - 1));
    }
  }
  for (double ratio : ratios)
    logarithms.push_back(std::log(ratio));
  // With few measured points, the scales would depend mostly on noise, and two tunings would diverge.
  if (numbers.size() < fewestForScales) {
    scales.assign(kernel.space.knobs.size(), scaleValues[0]);
    belief = kernel.predicted.empty() ? 0 : beliefValues[0];
    fit();
  } else {
    choose();
  }
}

/// Sets one hyperparameter at a time, in two passes, to the mean of its candidate values weighted by likelihood. The
/// most likely value is not used: if two values are almost equally likely, noise would decide between them, and two
/// tunings would diverge.
void Surrogate::choose() {
  scales.assign(kernel.space.knobs.size(), scaleValues[0]);
  belief = kernel.predicted.empty() ? 0 : beliefValues[0];
  auto vary = [&](double &parameter, llvm::ArrayRef<double> values, bool isScale) {
    std::vector<double> likelihoods;
    for (double value : values) {
      parameter = value;
      likelihoods.push_back(fit());
    }
    const double most = *std::max_element(likelihoods.begin(), likelihoods.end());
    double sum = 0, weights = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double weight = std::exp(likelihoods[i] - most);
      weights += weight;
      sum += weight * (isScale ? std::log(values[i]) : values[i]);
    }
    parameter = isScale ? std::exp(sum / weights) : sum / weights;
  };
  for (int sweep = 0; sweep < 2; ++sweep) {
    if (!kernel.predicted.empty())
      vary(belief, beliefValues, false);
    for (double &scale : scales)
      vary(scale, scaleValues, true);
  }
  fit();
}

double Surrogate::prior(size_t number) const {
  return kernel.predicted.empty() ? 0 : belief * std::log(std::max(kernel.predicted[number], 1.0));
}

double Surrogate::kernelOf(const std::vector<double> &a, const std::vector<double> &b) const {
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i)
    distance += (a[i] - b[i]) * (a[i] - b[i]) / (scales[i] * scales[i]);
  return variance * std::exp(-distance / 2);
}

/// Sets offset, variance, factor and weights. Returns the log likelihood up to a constant.
double Surrogate::fit() {
  const size_t n = numbers.size();
  std::vector<double> targets;
  for (size_t i = 0; i < n; ++i)
    targets.push_back(logarithms[i] - prior(numbers[i]));
  offset = std::accumulate(targets.begin(), targets.end(), 0.0) / double(n);
  double sum = 0;
  for (double &target : targets) {
    target -= offset;
    sum += target * target;
  }
  variance = std::max(sum / double(n), 1e-4);
  factor.assign(n * n, 0);
  double logDeterminant = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum =
          kernelOf(features[numbers[i]], features[numbers[j]]) + (i == j ? noise * noise + 1e-6 * variance : 0);
      for (size_t k = 0; k < j; ++k)
        sum -= factor[i * n + k] * factor[j * n + k];
      factor[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / factor[j * n + j];
      if (i == j)
        logDeterminant += std::log(factor[i * n + i]);
    }
  weights = std::move(targets);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k)
      weights[i] -= factor[i * n + k] * weights[k];
    weights[i] /= factor[i * n + i];
  }
  double fitted = 0;
  for (double weight : weights)
    fitted += weight * weight;
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k)
      weights[i] -= factor[k * n + i] * weights[k];
    weights[i] /= factor[i * n + i];
  }
  return -fitted / 2 - logDeterminant;
}

Surrogate::Guess Surrogate::at(size_t number) const {
  const size_t n = numbers.size();
  std::vector<double> column(n);
  double mean = 0;
  for (size_t i = 0; i < n; ++i) {
    column[i] = kernelOf(features[number], features[numbers[i]]);
    mean += column[i] * weights[i];
  }
  double left = variance;
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k)
      column[i] -= factor[i * n + k] * column[k];
    column[i] /= factor[i * n + i];
    left -= column[i] * column[i];
  }
  return {mean + offset + prior(number), std::sqrt(std::max(left, 0.0))};
}

double Surrogate::expectedImprovement(size_t number, double best) const {
  Guess guess = at(number);
  double gain = std::log(best) - guess.mean;
  if (guess.deviation < 1e-9)
    return std::max(gain, 0.0);
  double z = gain / guess.deviation;
  double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI), below = std::erfc(-z / std::sqrt(2.0)) / 2;
  return gain * below + guess.deviation * density;
}

} // namespace tilewright::tuner
