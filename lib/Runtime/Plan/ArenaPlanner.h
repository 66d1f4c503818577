//===- ArenaPlanner.h - offsets of the scratch buffers of one call --------===//
//
// Buffers that are never alive together share memory:
//
//   step        0   1   2   3
//   a  100 B    |---|                 a -> 0
//   b  200 B        |-------|         b -> 128
//   c   64 B            |---|         c -> 0    (a is dead)
//
// Greedy by size: the largest buffer first, each into the smallest gap between the placed buffers alive at the same
// time. Two buffers used by the same step count as alive together.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_PLAN_ARENAPLANNER_H
#define TILEWRIGHT_LIB_RUNTIME_PLAN_ARENAPLANNER_H

#include "lib/Runtime/Plan/Plan.h"

namespace tilewright::plan {

/// Every offset in an arena is a multiple of this many bytes.
inline constexpr int64_t arenaAlignment = 64;

/// First and last index into Plan::steps that uses a buffer; -1 and -1 when none does.
struct LiveRange {
  int32_t first = -1, last = -1;
  bool empty() const { return first < 0; }
  bool overlaps(const LiveRange &other) const {
    return !empty() && !other.empty() && first <= other.last && other.first <= last;
  }
};

/// When each of `buffers` buffers is alive while `steps` run in order.
std::vector<LiveRange> liveRanges(const std::vector<const Step *> &steps, size_t buffers);

/// A buffer to place: its size in bytes and when it is alive. An empty range or a size of 0 takes no room.
struct ArenaRequest {
  int64_t bytes = 0;
  LiveRange live;
};

struct ArenaLayout {
  std::vector<int64_t> offsets; ///< bytes from the arena's start, one per request
  int64_t total = 0;            ///< bytes of the arena
};

/// Places the requests. False, with a reason in `error`, for a negative size or a total beyond 64 bits.
bool planArena(const std::vector<ArenaRequest> &requests, ArenaLayout &layout, std::string &error);

} // namespace tilewright::plan

#endif
