//===- Bench.h - measures schedules of a kernel --------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_BENCH_H
#define TILEWRIGHT_LIB_TUNER_BENCH_H

#include "tilewright/ScheduleSpace.h"

namespace tilewright::tuner {

/// The measured times of one schedule in a race, or the reason why it failed.
struct Lane {
  std::vector<double> nanoseconds; ///< one time per round; empty if the schedule failed
  std::string failure;             ///< why there are no times: it did not compile, crashed, hung or was too slow
};

/// A device that runs schedules: worker processes on this machine, or a recorded table.
class Bench {
public:
  virtual ~Bench() = default;

  /// Measures each of `points` once in each of `rounds` rounds, in an order that changes from round to round. If a
  /// point cannot be compiled or fails in its first run, only the lane of this point has no times. `deadline` is the
  /// maximum time of one run in nanoseconds, or 0 if it is not known yet.
  virtual std::vector<Lane> race(const std::vector<SchedulePoint> &points, int rounds, double deadline) = 0;

  /// Returns an empty string if the point's results satisfy the numbers rule, otherwise a description of the error.
  virtual std::string check(const SchedulePoint &point) = 0;

  /// Returns true if measuring must stop: the user interrupted it, or the time limit is reached.
  virtual bool stopped() { return false; }
};

} // namespace tilewright::tuner

#endif
