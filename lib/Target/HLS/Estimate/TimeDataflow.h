//===- TimeDataflow.h - when the tasks of a design end -------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_ESTIMATE_TIMEDATAFLOW_H
#define TILEWRIGHT_TARGET_HLS_ESTIMATE_TIMEDATAFLOW_H

#include "lib/Target/HLS/Estimate/DesignFacts.h"

namespace tilewright::hls {

/// A nest with its schedule: an iteration begins `ii` after the one before, or later if it has to wait; it reads queues
/// at once and writes them `depth` later; `after` cycles pass between its last iteration and what follows.
struct TimedNest {
  const NestFacts *facts = nullptr; ///< null: `cycles` pass
  int64_t ii = 1, depth = 1, after = 0, cycles = 0;
};
struct TimedTask {
  std::vector<size_t> reads, writes; ///< channels
  std::vector<TimedNest> nests;
};

/// The cycle in which the last task ends, if all begin as soon as the arrays that they read are written; `ends` of
/// each. -1: they wait for each other for ever.
int64_t timeDataflow(const std::vector<TimedTask> &tasks, const std::vector<QueueFacts> &queues,
                     std::vector<int64_t> *ends = nullptr);

} // namespace tilewright::hls

#endif
