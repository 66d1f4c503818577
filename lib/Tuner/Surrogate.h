//===- Surrogate.h - predict the times of unmeasured schedules --------------------------===//
//
// The surrogate model is a Gaussian process over the logarithm of measured / predicted time, with a squared exponential
// kernel on the indices of the knobs' values (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
// algorithm 2.1). With few measurements, the hyperparameters (the length scale of each knob, and the weight of the cost
// model) have constant values. Otherwise, each is the likelihood-weighted mean of its candidate values, and the
// hyperparameters are set one at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_SURROGATE_H
#define TILEWRIGHT_LIB_TUNER_SURROGATE_H

#include "lib/Tuner/Search.h"

namespace tilewright::tuner {

class Surrogate {
public:
  /// Fits the process to measurements. `ratios[i]` is the time of the point `numbers[i]` of `kernel` relative to the
  /// time of the default.
  Surrogate(const Searched &kernel, const std::vector<size_t> &numbers, const std::vector<double> &ratios);

  struct Guess {
    double mean = 0, deviation = 0; ///< mean and standard deviation of the logarithm of the ratio
  };
  Guess at(size_t number) const;

  /// Returns the expected improvement of point `number` over the ratio `best`, as a difference of logarithms of ratios.
  double expectedImprovement(size_t number, double best) const;

private:
  void choose();
  double fit();
  double kernelOf(const std::vector<double> &a, const std::vector<double> &b) const;
  double prior(size_t number) const;

  const Searched &kernel;
  std::vector<std::vector<double>> features; ///< features of every point
  std::vector<size_t> numbers;
  std::vector<double> logarithms; ///< logarithms of the measured ratios
  std::vector<double> scales;     ///< per knob
  double belief = 1;              ///< weight of the cost model: factor of the logarithm of the predicted time
  double offset = 0, variance = 1;
  std::vector<double> factor, weights; ///< the Cholesky factor in row-major order, and K^-1 y
};

} // namespace tilewright::tuner

#endif
