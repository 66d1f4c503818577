//===- ReplayDataflow.cpp - required depths of queues --------------------------------------===//
//
// Test: test/Codegen/HLS/stream-channels.mlir, test/Conformance/hls (with one less, threads deadlock)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/ReplayDataflow.h"

namespace tilewright::hls {
namespace {

/// The position of a task.
struct Place {
  size_t nest = 0, access = 0;
  int64_t iteration = 0;
  bool done = false;
};

class Replay {
public:
  Replay(const std::vector<ReplayTask> &tasks, std::vector<int64_t> least)
      : tasks(tasks), places(tasks.size()), depth(std::move(least)), held(depth.size(), 0), writer(depth.size()),
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
        all &= places[task].done;
      }
      if (all)
        return depth;
      if (!moved && !deepen())
        return {};
    }
  }

private:
  /// Advances a task as far as possible. Returns true if it moved.
  bool advance(size_t number) {
    const ReplayTask &task = tasks[number];
    Place &place = places[number];
    if (place.done)
      return false;
    for (size_t other : task.after)
      if (!places[other].done)
        return false;
    bool moved = false;
    while (place.nest < task.nests.size()) {
      const ReplayNest &nest = task.nests[place.nest];
      if (nest.accesses.empty() || place.iteration == nest.iterations) {
        ++place.nest;
        place.iteration = 0;
        moved = true;
        continue;
      }
      auto [queue, writes] = nest.accesses[place.access];
      if (writes ? held[queue] == depth[queue] : held[queue] == 0)
        return moved;
      held[queue] += writes ? 1 : -1;
      moved = true;
      if (++place.access == nest.accesses.size()) {
        place.access = 0;
        ++place.iteration;
      }
    }
    place.done = true;
    return true;
  }

  /// Returns the next access of a stuck task, or null if it waits for an array.
  const ReplayNest::Access *nextAccess(size_t number) const {
    const Place &place = places[number];
    for (size_t other : tasks[number].after)
      if (!places[other].done)
        return nullptr;
    return &tasks[number].nests[place.nest].accesses[place.access];
  }

  /// Returns the task that a stuck task waits for: the one that computes its array, fills its queue, or empties it.
  size_t awaited(size_t number) const {
    if (const ReplayNest::Access *access = nextAccess(number))
      return access->writes ? reader[access->queue] : writer[access->queue];
    for (size_t other : tasks[number].after)
      if (!places[other].done)
        return other;
    return number;
  }

  /// All tasks are stuck. The chain of waiting tasks ends in a cycle; the shallowest full queue in the cycle becomes
  /// deeper.
  bool deepen() {
    size_t at = 0;
    while (places[at].done)
      ++at;
    for (size_t step = 0; step < tasks.size(); ++step) {
      at = awaited(at);
      if (places[at].done)
        return false; // an element is read that its finished writer has not written
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
  std::vector<Place> places;
  std::vector<int64_t> depth, held;
  std::vector<size_t> writer, reader; ///< tasks, indexed by queue
};

} // namespace

std::vector<int64_t> sizeQueues(const std::vector<ReplayTask> &tasks, std::vector<int64_t> least) {
  return Replay(tasks, std::move(least)).run();
}

} // namespace tilewright::hls
