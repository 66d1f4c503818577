//===- ArenaPlanner.h - offsets of the scratch buffers of one call --------===//
//
// Buffers whose lifetimes do not overlap share memory:
//
//   step        0   1   2   3
//   a  100 B    |---|                 a -> 256
//   b  200 B        |-------|         b -> 0
//   c   64 B            |---|         c -> 256  (a is dead)
//
// The algorithm is greedy by size: it assigns offsets to the buffers in order of decreasing size. Each buffer is placed
// in the smallest sufficient gap between the already placed buffers whose lifetimes overlap with its own lifetime, or
// after these buffers if no gap is sufficient. The lifetimes of two buffers that the same step uses overlap.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_PLAN_ARENAPLANNER_H
#define TILEWRIGHT_LIB_RUNTIME_PLAN_ARENAPLANNER_H

#include "lib/Runtime/Plan/Plan.h"

namespace tilewright::plan {

/// Every offset in an arena is a multiple of this many bytes.
inline constexpr int64_t arenaAlignment = 64;

/// The indices of the first and of the last step that uses a buffer, or -1 if no step uses it.
struct LiveRange {
  int32_t first = -1, last = -1;
  bool empty() const { return first < 0; }
  bool overlaps(const LiveRange &other) const {
    return !empty() && !other.empty() && first <= other.last && other.first <= last;
  }
};

/// Returns the live range of each of the `buffers` buffers when `steps` run in order.
std::vector<LiveRange> liveRanges(const std::vector<const Step *> &steps, size_t buffers);

/// The size in bytes and the live range of a buffer in the arena. A buffer with an empty range or a size of 0 needs no
/// memory.
struct ArenaRequest {
  int64_t bytes = 0;
  LiveRange live;
};

struct ArenaLayout {
  std::vector<int64_t> offsets; ///< bytes from the arena's start, one per request
  int64_t total = 0;            ///< bytes of the arena
};

/// Assigns offsets. Returns false with a reason in `error` if a size is negative, or if a size or an offset exceeds
/// 2^60 bytes.
bool planArena(const std::vector<ArenaRequest> &requests, ArenaLayout &layout, std::string &error);

} // namespace tilewright::plan

#endif
