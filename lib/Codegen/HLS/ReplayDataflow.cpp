//===- ReplayDataflow.cpp - required depths of queues --------------------------------------===//
//
// Tests: test/Codegen/HLS/stream-channels.mlir, test/Conformance/hls (a depth that is smaller by one causes a deadlock)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/ReplayDataflow.h"

namespace tilewright::hls {
namespace {

/// The progress of a task: its next access in the replay.
struct Progress {
  size_t nest = 0, access = 0;
  int64_t iteration = 0;
  bool done = false;
};

class Replay {
public:
  Replay(const std::vector<ReplayTask> &tasks, std::vector<int64_t> least)
      : tasks(tasks), progress(tasks.size()), depth(std::move(least)), held(depth.size(), 0), writer(depth.size()),
        reader(depth.size()) {
    for (size_t task = 0; task < tasks.size(); ++task)
      for (const ReplayNest &nest : tasks[task].nests)
        for (auto [queue, writes] : nest.accesses)
          (writes ? writer : reader)[queue] = task;
  }

  std::vector<int64_t> run() {
    while (true) {
      bool moved = false, all = true;
      for (size_t task = 0; task < tasks.size(); ++task) {
        moved |= advance(task);
        all &= progress[task].done;
      }
      if (all)
        return depth;
      if (!moved && !deepen())
        return {};
    }
  }

private:
  /// Advances a task until it must wait. Returns true if the task advanced.
  bool advance(size_t number) {
    const ReplayTask &task = tasks[number];
    Progress &current = progress[number];
    if (current.done)
      return false;
    for (size_t other : task.after)
      if (!progress[other].done)
        return false;
    bool moved = false;
    while (current.nest < task.nests.size()) {
      const ReplayNest &nest = task.nests[current.nest];
      if (nest.accesses.empty() || current.iteration == nest.iterations) {
        ++current.nest;
        current.iteration = 0;
        moved = true;
        continue;
      }
      auto [queue, writes] = nest.accesses[current.access];
      if (writes ? held[queue] == depth[queue] : held[queue] == 0)
        return moved;
      held[queue] += writes ? 1 : -1;
      moved = true;
      if (++current.access == nest.accesses.size()) {
        current.access = 0;
        ++current.iteration;
      }
    }
    current.done = true;
    return true;
  }

  /// Returns the queue access for which a blocked task waits, or null if the task waits for an array.
  const ReplayNest::Access *nextAccess(size_t number) const {
    const Progress &current = progress[number];
    for (size_t other : tasks[number].after)
      if (!progress[other].done)
        return nullptr;
    return &tasks[number].nests[current.nest].accesses[current.access];
  }

  /// Returns the task for which the blocked task `number` waits: the producer of an array that task `number` reads, or
  /// the task at the other end of the queue that task `number` accesses next.
  size_t awaited(size_t number) const {
    if (const ReplayNest::Access *access = nextAccess(number))
      return access->writes ? reader[access->queue] : writer[access->queue];
    for (size_t other : tasks[number].after)
      if (!progress[other].done)
        return other;
    return number;
  }

  /// Resolves a deadlock, in which some tasks wait for each other in a cycle, by increasing the depth of the shallowest
  /// full queue in the cycle. Returns false if the cycle has no full queue, or if a task waits for a task that has
  /// ended.
  bool deepen() {
    size_t at = 0;
    while (progress[at].done)
      ++at;
    for (size_t step = 0; step < tasks.size(); ++step) {
      at = awaited(at);
      if (progress[at].done)
        return false; // the task at the other end of the queue has already ended
    }
    int64_t *shallowest = nullptr;
    for (size_t step = 0; step < tasks.size(); ++step, at = awaited(at))
      if (const ReplayNest::Access *access = nextAccess(at); access && access->writes)
        if (int64_t &its = depth[access->queue]; !shallowest || its < *shallowest)
          shallowest = &its;
    if (shallowest)
      ++*shallowest;
    return shallowest != nullptr;
  }

  const std::vector<ReplayTask> &tasks;
  std::vector<Progress> progress;
  std::vector<int64_t> depth, held;
  std::vector<size_t> writer, reader; ///< writing and reading task of each queue
};

} // namespace

std::vector<int64_t> sizeQueues(const std::vector<ReplayTask> &tasks, std::vector<int64_t> least) {
  return Replay(tasks, std::move(least)).run();
}

} // namespace tilewright::hls
