//===- Shadow.h - the last accesses of memory, and their order ------------------------===//
//
// Each run of bytes stores the last write and some of the reads since then, as epochs: a warp, a lane and the warp's
// clock. An access races with an earlier one unless the accessing warp's vector clock has reached the earlier epoch.
// Accesses of the async proxy (bulk copies, wgmma) must also come after a proxy fence that follows the generic writes.
// Runs have 16 bytes until an access is smaller; then all runs of the memory are split.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_SHADOW_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_SHADOW_H

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilewright::ptx {

inline constexpr uint8_t kSeveralLanes = 255;
/// The agents with a clock in a block: 32 warps, then the bulk copies of its mbarriers (those beyond 32 share clocks).
inline constexpr uint32_t kWarpAgents = 32, kAgents = 64;

struct Epoch {
  enum : uint16_t { Strong = 1, Async = 2, Proxy = 4 }; ///< Proxy: through the async proxy
  uint32_t block = 0;                                   ///< serial number of the block, from 1; 0: no access
  uint32_t clock = 0;
  uint32_t pc = 0;
  uint8_t warp = 0, lane = 0;
  uint16_t flags = 0;
};

/// The clocks of other agents as far as a warp is ordered after them.
struct VectorClock {
  std::array<uint32_t, kAgents> own = {};        ///< clocks of the agents of its block
  std::array<uint32_t, kAgents> fenced = {};     ///< the part of `own` that is visible to the async proxy
  std::unordered_map<uint64_t, uint32_t> others; ///< clocks of other blocks, by block * kAgents + agent

  void join(const VectorClock &from, bool sameBlock, uint32_t fromBlock);
  /// Copies clocks of `block`, to which this clock belongs, from `others` into `own`.
  void recall(uint32_t block);
  /// Joins the clock of a warp of `fromBlock` into this one, which belongs to `block`.
  void joinInto(uint32_t block, const VectorClock &from, uint32_t fromBlock) {
    join(from, block == fromBlock, fromBlock);
    if (block != fromBlock)
      recall(block);
  }
};

/// The accessing lane of a warp at its current clock.
struct Accessor {
  Epoch epoch;
  const VectorClock *clock;

  bool isAfter(const Epoch &earlier) const {
    if (earlier.block == epoch.block) {
      if (earlier.warp != epoch.warp)
        return clock->own[earlier.warp] >= earlier.clock;
      return earlier.lane == epoch.lane || earlier.clock < epoch.clock;
    }
    auto found = clock->others.find(uint64_t(earlier.block) * kAgents + earlier.warp);
    return found != clock->others.end() && found->second >= earlier.clock;
  }
  /// Returns true for an access of the async proxy after a generic write of this block without a proxy fence in
  /// between.
  bool lacksProxyFence(const Epoch &write) const {
    return epoch.flags & Epoch::Proxy && !(write.flags & (Epoch::Proxy | Epoch::Async)) && write.block == epoch.block &&
           clock->fenced[write.warp] < write.clock;
  }
};

class Shadow {
public:
  void reset(uint64_t bytes);

  /// Record an access, and return the earlier one that it races with, or null. The bytes must be inside the memory.
  const Epoch *read(const Accessor &who, uint64_t at, uint64_t bytes);
  const Epoch *write(const Accessor &who, uint64_t at, uint64_t bytes);
  /// Completes an asynchronous write (read) recorded with Epoch::Async: from now on it counts as an access of `who`.
  void finishWrite(const Accessor &who, uint64_t at, uint64_t bytes);
  void finishRead(const Accessor &who, uint64_t at, uint64_t bytes) { finishRead(who.epoch, who.epoch, at, bytes); }
  /// Replaces the read that `issuer`'s warp recorded by `done`.
  void finishRead(const Epoch &issuer, const Epoch &done, uint64_t at, uint64_t bytes);

private:
  struct Run {
    Epoch write;
    Epoch reads[4];
  };
  void split(uint64_t at, uint64_t bytes);
  /// Adds the read to those of the run.
  void noteRead(const Accessor &who, Run &run);

  uint64_t size = 0;
  uint32_t shift = 4, replaced = 0;
  std::vector<Run> runs; ///< empty until the first access
  Epoch conflict;        ///< result of read() and write()
};

} // namespace tilewright::ptx

#endif
