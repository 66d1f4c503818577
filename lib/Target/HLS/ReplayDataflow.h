//===- ReplayDataflow.h - how deep queues must be ------------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_REPLAYDATAFLOW_H
#define TILEWRIGHT_TARGET_HLS_REPLAYDATAFLOW_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::hls {

/// Some iterations of a task, each of which reads and writes these queues by one element, in this order.
struct ReplayNest {
  struct Access {
    size_t queue;
    bool writes;
  };
  int64_t iterations = 0;
  std::vector<Access> accesses;
};

/// A task: it begins when the tasks of `after` are done (it reads an array of theirs), and runs its nests in order.
struct ReplayTask {
  std::vector<size_t> after;
  std::vector<ReplayNest> nests;
};

/// Depths, at least those given, with which the tasks end: the replay lets every task go as far as it can, and where
/// all are stuck, the shallowest full queue of those who wait for each other in a circle becomes one deeper. Empty: no
/// depths help, a queue is read that nobody fills.
std::vector<int64_t> sizeQueues(const std::vector<ReplayTask> &tasks, std::vector<int64_t> least);

} // namespace tilewright::hls

#endif
