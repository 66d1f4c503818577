//===- Statistics.h - what a race of schedules has shown ------------------------------===//
//
// Times of one round are taken right after each other, so what slows the machine slows all of a round: schedules are
// compared by the median of the ratios within rounds, never by their times.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_STATISTICS_H
#define TILEWRIGHT_LIB_TUNER_STATISTICS_H

#include <vector>

namespace tilewright::tuner {

double median(std::vector<double> values);

/// The median of time / base over rounds, and an interval that holds the true one in 95 of 100 races: the order
/// statistics of the sign test (Conover, Practical Nonparametric Statistics, 3.2). With fewer than six rounds there is
/// no such interval; it is then all that was seen.
struct Ratio {
  double median = 1, low = 1, high = 1;
};

Ratio ratioOf(const std::vector<double> &times, const std::vector<double> &base);

/// How much a schedule seems to differ from itself, as a fraction of its time, from its two places in a race.
double noiseOf(const std::vector<double> &first, const std::vector<double> &second);

/// What a challenger must be faster by: 2%, or three times the noise.
double marginOf(double noise);

/// Wholly beyond the margin.
bool wins(const Ratio &ratio, double noise);

} // namespace tilewright::tuner

#endif
