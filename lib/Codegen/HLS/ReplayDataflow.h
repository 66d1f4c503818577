//===- ReplayDataflow.h - required depths of queues ----------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_REPLAYDATAFLOW_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_REPLAYDATAFLOW_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::hls {

/// Iterations of a task, each of which reads or writes one element of each of these queues, in this order.
struct ReplayNest {
  struct Access {
    size_t queue;
    bool writes;
  };
  int64_t iterations = 0;
  std::vector<Access> accesses;
};

/// A task. It begins when the tasks in `after` have ended (it reads their arrays), and runs its nests in order.
struct ReplayTask {
  std::vector<size_t> after;
  std::vector<ReplayNest> nests;
};

/// Returns queue depths of at least `least` with which all tasks end. The replay advances every task as far as
/// possible. If all are stuck, the depth of the shallowest full queue in a cycle of waiting tasks is increased by one.
/// Returns an empty list if no depths help, because a queue is read that no task writes.
std::vector<int64_t> sizeQueues(const std::vector<ReplayTask> &tasks, std::vector<int64_t> least);

} // namespace tilewright::hls

#endif
