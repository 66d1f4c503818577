//===- Shadow.h - the last accesses of memory, and their order ------------------------===//
//
// The shadow of each run of bytes stores the last write and some of the later reads as epochs. An epoch consists of a
// warp, a lane and the warp's clock. Two accesses, at least one of which is a write and at least one of which is not
// strong, race unless the vector clock of the later access's warp has reached the epoch of the earlier access. An
// asynchronous access that is not complete races with all such later accesses. Between generic writes of a block and
// its accesses of the async proxy (bulk copies, wgmma), there must also be a proxy fence. Runs have 16 bytes at first.
// An access whose address or size is not a multiple of the size of the runs splits all runs of the memory.
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
/// The numbers of agents in a block that have a clock: 32 warps, followed by 32 agents for the asynchronous copies that
/// signal mbarriers. If more than 32 mbarriers are initialized, several mbarriers share an agent.
inline constexpr uint32_t kWarpAgents = 32, kAgents = 64;

struct Epoch {
  enum : uint16_t { Strong = 1, Async = 2, Proxy = 4 }; ///< Proxy: the access is through the async proxy
  uint32_t block = 0; ///< serial number of the block, from 1; 0 means that there is no access
  uint32_t clock = 0;
  uint32_t pc = 0;
  uint8_t warp = 0, lane = 0;
  uint16_t flags = 0;
};

/// The vector clock of a warp. For each agent, it has the latest clock whose accesses happen before the warp's next
/// access.
struct VectorClock {
  std::array<uint32_t, kAgents> own = {};        ///< clocks of the agents of its block
  std::array<uint32_t, kAgents> fenced = {};     ///< the part of `own` that is visible to the async proxy
  std::unordered_map<uint64_t, uint32_t> others; ///< clocks of other blocks, by block * kAgents + agent

  void join(const VectorClock &from, bool sameBlock, uint32_t fromBlock);
  /// Sets each clock in `own` to the maximum of this clock and the clock of the same agent of `block` in `others`. This
  /// vector clock must belong to `block`.
  void recall(uint32_t block);
  /// Joins `from`, the clock of a warp of `fromBlock`, into this clock, which belongs to `block`.
  void joinInto(uint32_t block, const VectorClock &from, uint32_t fromBlock) {
    join(from, block == fromBlock, fromBlock);
    if (block != fromBlock)
      recall(block);
  }
};

/// The lane that executes an access, with the current clock of its warp.
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
  /// Returns true if this is an access of the async proxy, `write` is a generic write of the same block, and there is
  /// no proxy fence between them.
  bool lacksProxyFence(const Epoch &write) const {
    return epoch.flags & Epoch::Proxy && !(write.flags & (Epoch::Proxy | Epoch::Async)) && write.block == epoch.block &&
           clock->fenced[write.warp] < write.clock;
  }
};

class Shadow {
public:
  /// Begins to record the accesses of `bytes` bytes. Without this call, nothing is recorded.
  void reset(uint64_t bytes);

  /// Record an access. Return an earlier access that races with it, or an earlier write without the required proxy
  /// fence, or null. The bytes must be inside the memory.
  const Epoch *read(const Accessor &who, uint64_t at, uint64_t bytes);
  const Epoch *write(const Accessor &who, uint64_t at, uint64_t bytes);
  /// Complete an asynchronous write or read, which was recorded with Epoch::Async. An access of `who` replaces it.
  void finishWrite(const Accessor &who, uint64_t at, uint64_t bytes);
  void finishRead(const Accessor &who, uint64_t at, uint64_t bytes) { finishRead(who.epoch, who.epoch, at, bytes); }
  /// Stores `done` in place of each asynchronous read that the warp of `issuer` has recorded.
  void finishRead(const Epoch &issuer, const Epoch &done, uint64_t at, uint64_t bytes);

private:
  struct Run {
    Epoch write;
    Epoch reads[4];
  };
  void split(uint64_t at, uint64_t bytes);
  /// Stores a read by `who` in `run`. If no slot is free and no stored read is ordered before this read, this read
  /// replaces one of the stored reads.
  void noteRead(const Accessor &who, Run &run);

  uint64_t size = 0;
  uint32_t shift = 4, replaced = 0;
  std::vector<Run> runs; ///< empty until the first access
  Epoch conflict;        ///< result of read() and write()
};

} // namespace tilewright::ptx

#endif
