//===- ReplayDataflow.h - required depths of queues ----------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_REPLAYDATAFLOW_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_REPLAYDATAFLOW_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::hls {

/// A loop nest of a task. Each iteration performs `accesses` in this order, and each access reads or writes one element
/// of a queue.
struct ReplayNest {
  struct Access {
    size_t queue;
    bool writes;
  };
  int64_t iterations = 0;
  std::vector<Access> accesses;
};

/// A task, which runs its nests in order. It begins when the tasks in `after`, whose arrays it reads, have ended.
struct ReplayTask {
  std::vector<size_t> after;
  std::vector<ReplayNest> nests;
};

/// Returns queue depths of at least `least` with which no deadlock occurs. The replay advances every task as far as
/// possible. If all tasks are blocked, the depth of the shallowest full queue in a cycle of waiting tasks is increased
/// by one. Returns an empty list if a task waits for a queue whose other task has ended, or if no queue in a cycle of
/// waiting tasks is full.
std::vector<int64_t> sizeQueues(const std::vector<ReplayTask> &tasks, std::vector<int64_t> least);

} // namespace tilewright::hls

#endif
