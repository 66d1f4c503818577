//===- ReplayDataflow.cpp - how deep queues must be ----------------------------------------===//
//
// Test: test/Target/HLS/stream-channels.mlir, test/Conformance/hls (a depth less is a deadlock on threads)
//
//===----------------------------------------------------------------------===//
#include "lib/Target/HLS/ReplayDataflow.h"

namespace tilewright::hls {
namespace {

/// Where a task is.
struct Place {
  size_t nest = 0, access = 0;
  int64_t iteration = 0;
  bool done = false;
};

class Replay {
public:
  Replay(const std::vector<ReplayTask> &tasks, size_t queues)
      : tasks(tasks), places(tasks.size()), depth(queues, 2), held(queues, 0) {}

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
  /// As far as the task can go; true if that is anywhere.
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

  bool deepen() {
    int64_t *shallowest = nullptr;
    for (size_t number = 0; number < tasks.size(); ++number) {
      const Place &place = places[number];
      if (place.done || place.nest >= tasks[number].nests.size())
        continue;
      const ReplayNest &nest = tasks[number].nests[place.nest];
      if (nest.accesses.empty())
        continue;
      auto [queue, writes] = nest.accesses[place.access];
      if (writes && held[queue] == depth[queue] && (!shallowest || depth[queue] < *shallowest))
        shallowest = &depth[queue];
    }
    if (shallowest)
      ++*shallowest;
    return shallowest != nullptr;
  }

  const std::vector<ReplayTask> &tasks;
  std::vector<Place> places;
  std::vector<int64_t> depth, held;
};

} // namespace

std::vector<int64_t> sizeQueues(const std::vector<ReplayTask> &tasks, size_t queues) {
  return Replay(tasks, queues).run();
}

} // namespace tilewright::hls
