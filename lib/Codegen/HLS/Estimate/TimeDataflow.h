//===- TimeDataflow.h - end times of the tasks of a design ---------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_TIMEDATAFLOW_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_TIMEDATAFLOW_H

#include "lib/Codegen/HLS/Estimate/DesignFacts.h"

namespace tilewright::hls {

/// A nest with its schedule. An iteration begins `ii` cycles after the previous iteration, or later if it must wait for
/// a queue. An iteration reads queues when it begins, and writes them `depth` cycles later. The next nest starts
/// `after` cycles after the last iteration of the nest has ended.
struct TimedNest {
  const NestFacts *facts = nullptr; ///< null: the step accesses no queue, and takes `cycles` cycles
  int64_t ii = 1, depth = 1, after = 0, cycles = 0;
};
struct TimedTask {
  std::vector<size_t> reads, writes; ///< channels that the task reads and writes
  std::vector<TimedNest> nests;
};

/// Returns the cycle in which the last task ends. A task begins one cycle after the last array that it reads has been
/// written. If `ends` is not null, the cycle in which each task ends is appended to `*ends`. Returns -1 for a deadlock.
int64_t timeDataflow(const std::vector<TimedTask> &tasks, const std::vector<QueueFacts> &queues,
                     std::vector<int64_t> *ends = nullptr);

} // namespace tilewright::hls

#endif
