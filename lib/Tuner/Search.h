//===- Search.h - which schedules are measured, and which one wins ---------------------===//
//
// Tier 0, `model`, measures nothing: the target's own choice. `quick` races at most 16 schedules: those the model ranks
// first, the default with one other value of a knob that the model says nothing of, and some that are far from all of
// these; then what helped together; then those that a Gaussian process over what was measured (Surrogate.h) expects
// most of. `full` spreads more over the space before it looks at results, and then goes on so, to 64.
//
// The default stands twice in every race: the difference of its two lanes is the noise, its time before and after
// the drift. A challenger is taken only when it beats the default beyond max(2%, 3 x noise) in a last race of the
// finalists, and its results are within the numbers rule; else the default stays.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_SEARCH_H
#define TILEWRIGHT_LIB_TUNER_SEARCH_H

#include "lib/Tuner/Bench.h"
#include "lib/Tuner/Statistics.h"
#include "tilewright/Tuner.h"

namespace tilewright::tuner {

/// So many schedules of a kernel like the searched one are tried, the best first.
inline constexpr size_t bestOfNeighbour = 3;

struct SearchOptions {
  TuneTier tier = TuneTier::Quick;
  int measurements = 0;       ///< schedules raced at most, the default among them; 0: 16 for quick, 64 for full
  bool deterministic = false; ///< only schedules that sum in the default's order
  std::vector<SchedulePoint> neighbours; ///< what were best for kernels like this one: three are measured first
};

/// A space with its points and what the target's model expects of each.
struct Searched {
  ScheduleSpace space;
  std::vector<SchedulePoint> points;
  std::vector<double> predicted; ///< nanoseconds per point; empty: the target has no model
};

struct Measured {
  SchedulePoint point;
  Ratio ratio; ///< to the default
  double nanoseconds = 0;
};

struct SearchResult {
  SchedulePoint best;
  bool isDefault = true;
  bool decided = false;           ///< the search came to its end; else another one may find more
  Ratio ratio;                    ///< of the best to the default, in the last race
  double noise = 0;               ///< in the last race
  double defaultNanoseconds = 0;  ///< in the last race
  int measurements = 0;           ///< schedules that were raced
  std::vector<Measured> measured; ///< the fastest first
  std::vector<std::pair<SchedulePoint, std::string>> failures;
  std::string verdict; ///< a sentence: why the best is the best
};

/// A race whose first and last point are the default. Rounds in which its two times are more than 5% apart do not
/// count: the machine changed its speed; others are run for them, up to three times as many. Nothing, with the reason
/// in `aborted`, when that was not enough or the default failed; without a reason when the bench was stopped.
/// `incumbent`: the default's nanoseconds, 0 where they are not known yet.
std::vector<Lane> steadyRace(Bench &bench, const std::vector<SchedulePoint> &points, int rounds, double &incumbent,
                             std::string &aborted);

SearchResult search(const Searched &kernel, Bench &bench, const SearchOptions &options);

/// The point with the least predicted time, the default where there is no model or it is as good.
SchedulePoint bestByModel(const Searched &kernel, bool deterministic);

} // namespace tilewright::tuner

#endif
