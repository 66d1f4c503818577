//===- Statistics.h - statistics of a race of schedules -------------------------------===//
//
// The times of a round are measured in immediate succession, so a slowdown of the machine affects the whole round.
// Schedules are therefore compared by the median of the ratios of times from the same round, never by absolute times.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_STATISTICS_H
#define TILEWRIGHT_LIB_TUNER_STATISTICS_H

#include <vector>

namespace tilewright::tuner {

double median(std::vector<double> values);

/// The median of time / base over rounds, and a 95% confidence interval: the order statistics of the sign test
/// (Conover, Practical Nonparametric Statistics, 3.2). For fewer than six rounds, the test defines no interval, and the
/// interval is the range of all ratios.
struct Ratio {
  double median = 1, low = 1, high = 1;
};

Ratio ratioOf(const std::vector<double> &times, const std::vector<double> &base);

/// Returns the relative measurement noise, computed from two lanes with the times of the same schedule.
double noiseOf(const std::vector<double> &first, const std::vector<double> &second);

/// Returns the relative gain that a challenger needs: the larger of 2% and three times the noise.
double marginOf(double noise);

/// Returns true if the gain exceeds the margin and the interval excludes 1.
bool wins(const Ratio &ratio, double noise);

} // namespace tilewright::tuner

#endif
