//===- Statistics.cpp - statistics of a race of schedules -----------------------------===//
//
// Test: test/Unit/Tuner/StatisticsTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Statistics.h"

#include <algorithm>
#include <cmath>

namespace tilewright::tuner {

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + long(middle), values.end());
  double upper = values[middle];
  if (values.size() % 2)
    return upper;
  return (*std::max_element(values.begin(), values.begin() + long(middle)) + upper) / 2;
}

/// Returns the largest k with P(Binomial(n, 1/2) < k) <= 0.025. The 95% confidence interval of the median of n values
/// extends from the k-th smallest to the k-th largest value. Returns 0 if n is too small for such an interval.
static size_t outside(size_t n) {
  double probability = std::exp2(-double(n)), sum = 0;
  for (size_t k = 0; k < n; ++k) {
    if (sum + probability > 0.025)
      return k;
    sum += probability;
    probability *= double(n - k) / double(k + 1);
  }
  return 0;
}

Ratio ratioOf(const std::vector<double> &times, const std::vector<double> &base) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(times.size(), base.size()); ++i)
    if (base[i] > 0)
      ratios.push_back(times[i] / base[i]);
  if (ratios.empty())
    return {};
  std::sort(ratios.begin(), ratios.end());
  size_t cut = outside(ratios.size());
  cut = cut > 0 ? cut - 1 : 0; // index of the k-th value, which is the bound of the interval
  return {median(ratios), ratios[cut], ratios[ratios.size() - 1 - cut]};
}

double noiseOf(const std::vector<double> &first, const std::vector<double> &second) {
  Ratio ratio = ratioOf(first, second);
  return std::max(std::abs(ratio.median - 1), (ratio.high - ratio.low) / 2);
}

double marginOf(double noise) { return std::max(0.02, 3 * noise); }

bool wins(const Ratio &ratio, double noise) {
  // The gain of the median must exceed the margin, and the interval must exclude 1.
  return ratio.median < 1 - marginOf(noise) && ratio.high < 1;
}

} // namespace tilewright::tuner
