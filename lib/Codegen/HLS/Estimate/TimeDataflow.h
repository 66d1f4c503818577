//===- TimeDataflow.h - end times of the tasks of a design ---------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_TIMEDATAFLOW_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_TIMEDATAFLOW_H

#include "lib/Codegen/HLS/Estimate/DesignFacts.h"

namespace tilewright::hls {

/// A nest with its schedule. An iteration begins `ii` cycles after the previous one, or later if it has to wait for a
/// queue. It reads queues when it begins, and writes them `depth` cycles later. There are `after` cycles between the
/// end of the last iteration of a nest and the start of the next nest.
struct TimedNest {
  const NestFacts *facts = nullptr; ///< null if the step has no accesses and takes `cycles`
  int64_t ii = 1, depth = 1, after = 0, cycles = 0;
};
struct TimedTask {
  std::vector<size_t> reads, writes; ///< channels that the task reads and writes
  std::vector<TimedNest> nests;
};

/// Returns the cycle in which the last task ends, if each task begins as soon as the arrays that it reads are written.
/// Sets `ends` to the cycle in which each task ends. Returns -1 for a deadlock.
int64_t timeDataflow(const std::vector<TimedTask> &tasks, const std::vector<QueueFacts> &queues,
                     std::vector<int64_t> *ends = nullptr);

} // namespace tilewright::hls

#endif
