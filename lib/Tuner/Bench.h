//===- Bench.h - where schedules of a kernel are raced -------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_BENCH_H
#define TILEWRIGHT_LIB_TUNER_BENCH_H

#include "tilewright/ScheduleSpace.h"

namespace tilewright::tuner {

/// What became of one schedule in a race.
struct Lane {
  std::vector<double> nanoseconds; ///< one per round; empty where it failed
  std::string failure;             ///< why it has no times: it did not compile, crashed, hung, gave wrong numbers
};

/// A device: the machine itself by worker processes, or a recorded table.
class Bench {
public:
  virtual ~Bench() = default;

  /// Runs each of `points` once in each of `rounds` rounds, in an order that changes from round to round. A point that
  /// cannot be run costs its lane alone. `deadline`: nanoseconds that one run may take; 0: none is known yet.
  virtual std::vector<Lane> race(const std::vector<SchedulePoint> &points, int rounds, double deadline) = 0;

  /// Empty when the point's results are within the numbers rule, else what is wrong.
  virtual std::string check(const SchedulePoint &point) = 0;

  /// No more is to be measured: the user has interrupted, or the time is over.
  virtual bool stopped() { return false; }
};

} // namespace tilewright::tuner

#endif
