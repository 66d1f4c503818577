//===- Shadow.cpp - the last accesses of memory, and their order ----------------------===//
//
// The shadow stores at most four reads per run of bytes. A new read, unless it is asynchronous, replaces an earlier
// read of the same warp. Otherwise, the new read takes a free slot. If there is none, it takes the slot of a read that
// is ordered before it, or else one of the four slots in round-robin order. A race with a replaced read may not be
// found, but no false race is reported.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Shadow.h"

#include <algorithm>

namespace tilewright::ptx {

void VectorClock::join(const VectorClock &from, bool sameBlock, uint32_t fromBlock) {
  if (sameBlock) {
    for (size_t i = 0; i < own.size(); ++i) {
      own[i] = std::max(own[i], from.own[i]);
      fenced[i] = std::max(fenced[i], from.fenced[i]);
    }
  } else {
    for (size_t i = 0; i < own.size(); ++i)
      if (from.own[i]) {
        uint32_t &mine = others[uint64_t(fromBlock) * kAgents + i];
        mine = std::max(mine, from.own[i]);
      }
  }
  for (const auto &[agent, clock] : from.others) {
    uint32_t &mine = others[agent];
    mine = std::max(mine, clock);
  }
}

void VectorClock::recall(uint32_t block) {
  for (size_t i = 0; i < own.size() && !others.empty(); ++i)
    if (auto found = others.find(uint64_t(block) * kAgents + i); found != others.end())
      own[i] = std::max(own[i], found->second);
}

void Shadow::reset(uint64_t bytes) {
  size = bytes;
  shift = 4;
  runs.clear();
}

void Shadow::split(uint64_t at, uint64_t bytes) {
  if (runs.empty())
    runs.resize((size >> shift) + 1);
  uint64_t fits = at | bytes;
  uint32_t wanted = shift;
  while (wanted && fits & ((uint64_t(1) << wanted) - 1))
    --wanted;
  if (wanted == shift)
    return;
  std::vector<Run> finer((size >> wanted) + 1);
  for (size_t i = 0; i < finer.size(); ++i)
    finer[i] = runs[i >> (shift - wanted)];
  runs = std::move(finer);
  shift = wanted;
}

/// Returns true if both accesses are strong (atomic, volatile, relaxed...). Such accesses do not race.
static bool bothStrong(const Epoch &a, const Epoch &b) { return a.flags & b.flags & Epoch::Strong; }

static bool races(const Accessor &who, const Epoch &earlier) {
  if (!earlier.block)
    return false;
  if (earlier.flags & Epoch::Async)
    return true;
  return !bothStrong(earlier, who.epoch) && !who.isAfter(earlier);
}

/// Replaces the read `read` by the later read of `who`. Sets the lane to kSeveralLanes if several lanes read at the
/// same clock. Returns false if another warp executed `read`, or if `who` reads asynchronously.
static bool refreshOwnSlot(const Accessor &who, Epoch &read) {
  if (read.block != who.epoch.block || read.warp != who.epoch.warp || who.epoch.flags & Epoch::Async)
    return false;
  bool several = read.lane != who.epoch.lane && read.clock == who.epoch.clock;
  read = who.epoch;
  if (several)
    read.lane = kSeveralLanes;
  return true;
}

void Shadow::noteRead(const Accessor &who, Run &run) {
  Epoch *slot = nullptr;
  for (Epoch &read : run.reads) {
    if (read.flags & Epoch::Async)
      continue;
    if (refreshOwnSlot(who, read))
      return;
    if (!slot && (!read.block || who.isAfter(read)))
      slot = &read;
  }
  if (!slot)
    slot = &run.reads[replaced++ & 3];
  *slot = who.epoch;
}

const Epoch *Shadow::read(const Accessor &who, uint64_t at, uint64_t bytes) {
  if (!size)
    return nullptr;
  split(at, bytes);
  const Epoch *found = nullptr;
  for (uint64_t i = at >> shift, end = (at + bytes - 1) >> shift; i <= end; ++i) {
    Run &run = runs[i];
    if (races(who, run.write) || (run.write.block && who.lacksProxyFence(run.write))) {
      conflict = run.write;
      found = &conflict;
    }
    noteRead(who, run);
  }
  return found;
}

const Epoch *Shadow::write(const Accessor &who, uint64_t at, uint64_t bytes) {
  if (!size)
    return nullptr;
  split(at, bytes);
  const Epoch *found = nullptr;
  for (uint64_t i = at >> shift, end = (at + bytes - 1) >> shift; i <= end; ++i) {
    Run &run = runs[i];
    if (races(who, run.write) || (run.write.block && who.lacksProxyFence(run.write))) {
      conflict = run.write;
      found = &conflict;
    }
    for (Epoch &read : run.reads) {
      if (races(who, read)) {
        conflict = read;
        found = &conflict;
      }
      if (!(read.flags & Epoch::Async))
        read = Epoch();
    }
    run.write = who.epoch;
  }
  return found;
}

void Shadow::finishWrite(const Accessor &who, uint64_t at, uint64_t bytes) {
  if (!size)
    return;
  split(at, bytes);
  for (uint64_t i = at >> shift, end = (at + bytes - 1) >> shift; i <= end; ++i)
    runs[i].write = who.epoch;
}

void Shadow::finishRead(const Epoch &issuer, const Epoch &done, uint64_t at, uint64_t bytes) {
  if (!size)
    return;
  split(at, bytes);
  for (uint64_t i = at >> shift, end = (at + bytes - 1) >> shift; i <= end; ++i)
    for (Epoch &read : runs[i].reads)
      if (read.flags & Epoch::Async && read.block == issuer.block && read.warp == issuer.warp)
        read = done;
}

} // namespace tilewright::ptx
