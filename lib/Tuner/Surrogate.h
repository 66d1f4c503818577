//===- Surrogate.h - what schedules that were not measured may take ---------------------===//
//
// A Gaussian process over the logarithm of measured / predicted time, with a squared exponential kernel on the knobs'
// ladders (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1). Each knob's length
// scale, and how far the model is believed, are those of a few that make the measurements most likely, knob by knob.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_SURROGATE_H
#define TILEWRIGHT_LIB_TUNER_SURROGATE_H

#include "lib/Tuner/Search.h"

namespace tilewright::tuner {

class Surrogate {
public:
  /// `ratios`: measured time of points[i] of `kernel`, by its number there, to the default's.
  Surrogate(const Searched &kernel, const std::vector<size_t> &numbers, const std::vector<double> &ratios);

  struct Guess {
    double mean = 0, deviation = 0; ///< of the logarithm of the ratio
  };
  Guess at(size_t number) const;

  /// By how much, in parts of the time, point `number` is expected to be faster than a ratio of `best`.
  double expectedImprovement(size_t number, double best) const;

private:
  void choose();
  double fit();
  double kernelOf(const std::vector<double> &a, const std::vector<double> &b) const;
  double prior(size_t number) const;

  const Searched &kernel;
  std::vector<std::vector<double>> features; ///< of every point
  std::vector<size_t> numbers;
  std::vector<double> logarithms; ///< of the measured ratios
  std::vector<double> scales;     ///< of the knobs
  double belief = 1;              ///< in the model: the part of its logarithm that is taken off
  double offset = 0, variance = 1;
  std::vector<double> factor, weights; ///< the Cholesky factor, row by row, and K^-1 y
};

} // namespace tilewright::tuner

#endif
