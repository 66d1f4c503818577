//===- Shadow.h - who touched memory last, and what orders it -------------------------===//
//
// Each run of bytes has the last write and some of the reads since, as epochs: a warp, a lane and the warp's clock. An
// access races with an earlier one unless the accessing warp's vector clock has reached its epoch. What the async proxy
// does (bulk copies, wgmma) must also be behind a proxy fence that follows the generic writes. Runs are 16 bytes
// long until an access asks for less; then all of the memory's runs are split.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_PTXCHECK_SHADOW_H
#define TILEWRIGHT_LIB_TARGET_CUDA_PTXCHECK_SHADOW_H

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilewright::ptx {

inline constexpr uint8_t kSeveralLanes = 255;
/// Who has a clock in a block: 32 warps, then the bulk copies of its mbarriers (those beyond 32 share).
inline constexpr uint32_t kWarpAgents = 32, kAgents = 64;

struct Epoch {
  enum : uint16_t { Strong = 1, Async = 2, Proxy = 4 }; ///< Proxy: through the async proxy
  uint32_t block = 0;                                   ///< its number in the order of starting, from 1; 0: no access
  uint32_t clock = 0;
  uint32_t pc = 0;
  uint8_t warp = 0, lane = 0;
  uint16_t flags = 0;
};

/// What a warp knows of the others' clocks.
struct VectorClock {
  std::array<uint32_t, kAgents> own = {};        ///< of its block
  std::array<uint32_t, kAgents> fenced = {};     ///< of these, what a proxy fence has shown to the async proxy
  std::unordered_map<uint64_t, uint32_t> others; ///< of other blocks: block * kAgents + agent

  void join(const VectorClock &from, bool sameBlock, uint32_t fromBlock);
  /// What others know of this block, which is `block`, it knows itself.
  void recall(uint32_t block);
  /// Into the clock of something in `block`: what a warp of `fromBlock` knows.
  void joinInto(uint32_t block, const VectorClock &from, uint32_t fromBlock) {
    join(from, block == fromBlock, fromBlock);
    if (block != fromBlock)
      recall(block);
  }
};

/// Who asks: a lane of a warp at its present clock.
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
  /// An access of the async proxy behind a generic write of this block that no proxy fence follows.
  bool lacksProxyFence(const Epoch &write) const {
    return epoch.flags & Epoch::Proxy && !(write.flags & (Epoch::Proxy | Epoch::Async)) && write.block == epoch.block &&
           clock->fenced[write.warp] < write.clock;
  }
};

class Shadow {
public:
  void reset(uint64_t bytes);

  /// Notes an access and says which earlier one it races with (null: none). `at` + `bytes` lie inside.
  const Epoch *read(const Accessor &who, uint64_t at, uint64_t bytes);
  const Epoch *write(const Accessor &who, uint64_t at, uint64_t bytes);
  /// An asynchronous write (read) noted with Epoch::Async has taken place: from now on it is `who`'s own.
  void finishWrite(const Accessor &who, uint64_t at, uint64_t bytes);
  void finishRead(const Accessor &who, uint64_t at, uint64_t bytes) { finishRead(who.epoch, who.epoch, at, bytes); }
  /// The read that `issuer`'s warp noted is `done` from now on.
  void finishRead(const Epoch &issuer, const Epoch &done, uint64_t at, uint64_t bytes);

private:
  struct Run {
    Epoch write;
    Epoch reads[4];
  };
  void split(uint64_t at, uint64_t bytes);
  /// Keeps the read among those of the run.
  void noteRead(const Accessor &who, Run &run);

  uint64_t size = 0;
  uint32_t shift = 4, replaced = 0;
  std::vector<Run> runs; ///< empty until the first access
  Epoch conflict;        ///< what read() and write() point at
};

} // namespace tilewright::ptx

#endif
