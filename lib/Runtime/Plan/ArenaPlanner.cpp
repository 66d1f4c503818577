//===- ArenaPlanner.cpp - offsets of the scratch buffers of one call ------===//
#include "lib/Runtime/Plan/ArenaPlanner.h"

#include <algorithm>

namespace tilewright::plan {

std::vector<LiveRange> liveRanges(const std::vector<const Step *> &steps, size_t buffers) {
  std::vector<LiveRange> live(buffers);
  for (size_t i = 0; i < steps.size(); ++i)
    for (const Operand &operand : steps[i]->operands) {
      LiveRange &range = live[operand.buffer];
      range.first = range.empty() ? int32_t(i) : range.first;
      range.last = int32_t(i);
    }
  return live;
}

bool planArena(const std::vector<ArenaRequest> &requests, ArenaLayout &layout, std::string &error) {
  // The limit is far below 2^63, so that the sum of two sizes does not overflow.
  constexpr int64_t largest = int64_t(1) << 60;
  layout.offsets.assign(requests.size(), 0);
  layout.total = 0;
  std::vector<size_t> order;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].bytes < 0 || requests[i].bytes > largest) {
      error = "arena buffer " + std::to_string(i) + " has an impossible size of " + std::to_string(requests[i].bytes) +
              " bytes";
      return false;
    }
    if (requests[i].bytes != 0 && !requests[i].live.empty())
      order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return requests[a].bytes != requests[b].bytes ? requests[a].bytes > requests[b].bytes : a < b;
  });

  std::vector<size_t> placed; // sorted by offset
  for (size_t current : order) {
    const ArenaRequest &request = requests[current];
    int64_t size = (request.bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment;
    int64_t best = -1, bestGap = INT64_MAX, end = 0;
    for (size_t other : placed) {
      if (!requests[other].live.overlaps(request.live))
        continue;
      int64_t gap = layout.offsets[other] - end;
      if (gap >= size && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      int64_t otherSize = (requests[other].bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment;
      end = std::max(end, layout.offsets[other] + otherSize);
    }
    int64_t offset = best >= 0 ? best : end;
    if (offset > largest) {
      error = "the arena would need more than 2^60 bytes";
      return false;
    }
    layout.offsets[current] = offset;
    layout.total = std::max(layout.total, offset + size);
    auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                               [&](int64_t value, size_t other) { return value < layout.offsets[other]; });
    placed.insert(at, current);
  }
  return true;
}

} // namespace tilewright::plan
