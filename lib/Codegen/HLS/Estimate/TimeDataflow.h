//===- TimeDataflow.h - end times of the tasks of a design ---------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_TIMEDATAFLOW_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_TIMEDATAFLOW_H

#include "lib/Codegen/HLS/Estimate/DesignFacts.h"

namespace tilewright::hls {

/// A nest with its schedule: an iteration begins `ii` cycles after the previous one, or later if it has to wait. It
/// reads queues at once and writes them `depth` cycles later; `after` cycles pass between its last iteration and the
/// next nest.
struct TimedNest {
  const NestFacts *facts = nullptr; ///< null if just `cycles` pass
  int64_t ii = 1, depth = 1, after = 0, cycles = 0;
};
struct TimedTask {
  std::vector<size_t> reads, writes; ///< channels
  std::vector<TimedNest> nests;
};

/// Returns the cycle in which the last task ends, if each begins as soon as the arrays that it reads are written;
/// `ends` receives the end of each task. -1 if tasks wait for each other forever.
int64_t timeDataflow(const std::vector<TimedTask> &tasks, const std::vector<QueueFacts> &queues,
                     std::vector<int64_t> *ends = nullptr);

} // namespace tilewright::hls

#endif
