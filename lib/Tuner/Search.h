//===- Search.h - search for the best schedule by measurement --------------------------===//
//
// The search has three tiers. The tier `model` measures nothing and uses the schedule with the best predicted time. The
// tier `quick` races at most 16 schedules. It starts with the schedules with the best predicted times, schedules that
// differ from the default in one knob that the model does not cover, and some schedules that are far from all of these.
// Then it tries combinations of changes that reduced the time and neighbors of the best schedule, and finally the
// schedules with the largest expected improvement under a Gaussian process over the measurements (Surrogate.h). The
// tier `full` first spreads more schedules over the space, and then continues like `quick`, up to 64 schedules.
//
// Every race measures the default schedule twice in each round. A round is discarded if the two times differ too much
// (drift). The noise is computed from the ratios of the two times over all remaining rounds (noiseOf()). Another
// schedule replaces the default only if it is faster by more than max(2%, 3 x noise) in the final race of the best
// schedules, and if its results satisfy the numbers rule.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_SEARCH_H
#define TILEWRIGHT_LIB_TUNER_SEARCH_H

#include "lib/Tuner/Bench.h"
#include "lib/Tuner/Statistics.h"
#include "tilewright/Tuner.h"

namespace tilewright::tuner {

/// The number of schedules, the best first, that are taken from the record of each similar kernel.
inline constexpr size_t bestOfSimilar = 3;

struct SearchOptions {
  TuneTier tier = TuneTier::Quick;
  int measurements = 0; ///< maximum number of raced schedules, including the default; 0: 16 for quick, 64 for full
  bool deterministic = false;         ///< true: search only schedules with the default's order of summation
  std::vector<SchedulePoint> similar; ///< the best schedules of similar kernels; up to three are measured first
};

/// A schedule space with its points and the time that the target's cost model predicts for each point.
struct Searched {
  ScheduleSpace space;
  std::vector<SchedulePoint> points;
  std::vector<double> predicted; ///< predicted nanoseconds of each point; empty if the target has no model
};

struct Measured {
  SchedulePoint point;
  Ratio ratio; ///< time of the schedule relative to the default
  double nanoseconds = 0;
};

struct SearchResult {
  SchedulePoint best;
  bool isDefault = true;
  bool decided = false;           ///< true: the search finished; false: another search may find a better schedule
  Ratio ratio;                    ///< time of the best schedule relative to the default, in the last race
  double noise = 0;               ///< relative noise, in the last race
  double defaultNanoseconds = 0;  ///< time of the default in the last race
  int measurements = 0;           ///< number of schedules that were raced
  std::vector<Measured> measured; ///< measured schedules, the fastest first
  std::vector<std::pair<SchedulePoint, std::string>> failures;
  std::string verdict; ///< sentence that explains why the best schedule was chosen
};

/// Runs a race whose first and last points are the default schedule. If the two times of the default differ by more
/// than 5% in a round, the speed of the machine has changed, and the round is discarded. Discarded rounds are repeated
/// in at most three further attempts. Returns an empty vector with the reason in `aborted` if too many rounds were
/// discarded or the default has no times. Returns an empty vector without a reason if the bench was stopped before
/// there were enough rounds. `incumbent` is the time of the default in nanoseconds, or 0 if it is not known yet.
std::vector<Lane> steadyRace(Bench &bench, const std::vector<SchedulePoint> &points, int rounds, double &incumbent,
                             std::string &aborted);

SearchResult search(const Searched &kernel, Bench &bench, const SearchOptions &options);

/// Returns the point with the least predicted time, or the default if there is no model or no point is better.
SchedulePoint bestByModel(const Searched &kernel, bool deterministic);

} // namespace tilewright::tuner

#endif
