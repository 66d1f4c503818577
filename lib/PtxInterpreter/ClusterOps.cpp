//===- ClusterOps.cpp - blocks of a cluster: addresses, and their barrier -----------------------------===//
//
// mapa returns the address of another block's shared memory. The bits of this address from kRankShift on contain the
// rank of that block plus one. The cluster's barrier waits for all threads that have not exited. The end of a block
// must be ordered after all accesses of other blocks to its shared memory: for each of these accesses, a warp of the
// block must have waited for an event that is ordered after the access.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {
namespace {

enum : uint32_t { Relaxed = ModUser };
constexpr uint64_t kOffsetMask = (uint64_t(1) << kRankShift) - 1;

/// Executes mapa, which returns the corresponding address in the block with the given rank. An address in the thread's
/// own block has no rank, so that .shared::cta also accepts it.
template <class Word> void mapAddress(Exec &e, const Instr &in) {
  Word *to = e.row<Word>(in, 0);
  const Word *from = e.row<Word>(in, 1);
  const uint32_t *ranks = e.row<uint32_t>(in, 2);
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address = from[lane], window = address & kWindowMask;
    uint32_t rank = ranks[lane];
    to[lane] = from[lane];
    if (rank >= e.block.cluster->blocks.size())
      e.find(Kind::BadOperand, lane,
             "the rank is " + std::to_string(rank) + ", but the cluster has " +
                 std::to_string(e.block.cluster->blocks.size()) + " blocks");
    else if (in.space == Space::Generic && window != kSharedWindow)
      e.find(Kind::BadOperand, lane, "the generic address is not in shared memory");
    else
      to[lane] = Word(window | (address & kOffsetMask) |
                      (rank == e.block.rank ? uint64_t(0) : uint64_t(rank + 1) << kRankShift));
  });
}

template <class Word> void rankOfAddress(Exec &e, const Instr &in) {
  uint32_t *to = e.row<uint32_t>(in, 0);
  const Word *from = e.row<Word>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address = from[lane];
    if (in.space == Space::Generic && (address & kWindowMask) != kSharedWindow)
      e.find(Kind::BadOperand, lane, "the generic address is not in shared memory");
    uint32_t number = uint32_t((address & ~kWindowMask) >> kRankShift);
    to[lane] = number && number != kOwnBlock ? number - 1 : e.block.rank;
  });
}

void arriveAtCluster(Exec &e, const Instr &in) {
  Cluster &cluster = *e.block.cluster;
  if (uint32_t twice = e.mask & (e.warp.atCluster | e.warp.pastCluster))
    e.find(Kind::BarrierMismatch, uint32_t(std::countr_zero(twice)),
           "arrives at the cluster's barrier again without waiting after its last arrival");
  e.warp.pastCluster &= ~e.mask;
  e.warp.atCluster |= e.mask;
  cluster.waited = true;
  if (e.grid.timing)
    cluster.time = std::max(cluster.time, e.grid.timing->now());
  if (!(in.mods & Relaxed))
    cluster.arriving[e.block.rank].join(e.warp.clock, true, e.block.serial);
  else if (e.warp.hasReleased)
    cluster.arriving[e.block.rank].join(e.warp.released, true, e.block.serial);
  ++e.warp.clock.own[e.warp.index];
  settleCluster(cluster);
}

void waitForCluster(Exec &e, const Instr &) {
  Cluster &cluster = *e.block.cluster;
  uint32_t pc = e.pc;
  if (uint32_t never = e.mask & ~(e.warp.atCluster | e.warp.pastCluster)) {
    e.find(Kind::BarrierMismatch, uint32_t(std::countr_zero(never)),
           "waits at the cluster's barrier, but has not arrived there");
    e.warp.pastCluster |= never;
  }
  if (uint32_t stay = e.fragment->mask & ~e.mask)
    leave(e, stay, pc + 1);
  if (e.mask & e.warp.atCluster) {
    e.fragment->state = Fragment::State::Waiting;
    return;
  }
  e.warp.pastCluster &= ~e.mask;
  for (const Block *block : cluster.blocks)
    e.warp.clock.join(cluster.completed[block->rank], block == &e.block, block->serial);
  e.warp.clock.recall(e.block.serial);
  if (e.grid.timing)
    e.grid.timing->wait(e.warp, cluster.passed + Timing::kClusterBarrier);
  e.fragment->state = Fragment::State::Ready;
  e.fragment->pc = pc + 1;
}

} // namespace

void settleCluster(Cluster &cluster) {
  for (const Block *block : cluster.blocks)
    for (const Warp &warp : block->warps)
      if (warp.existing & ~warp.exited & ~warp.atCluster)
        return;
  for (Block *block : cluster.blocks)
    for (Warp &warp : block->warps) {
      warp.pastCluster |= warp.atCluster;
      warp.atCluster = 0;
    }
  cluster.completed = std::move(cluster.arriving);
  cluster.arriving.assign(cluster.blocks.size(), VectorClock());
  cluster.waited = false;
  cluster.passed = cluster.time;
  for (Block *block : cluster.blocks)
    wake(*block);
}

void checkVisitors(Exec &e) {
  for (const auto &[agent, visit] : e.block.visitors) {
    bool reached = false;
    for (const Warp &warp : e.block.warps) {
      auto known = warp.clock.others.find(agent);
      reached |= known != warp.clock.others.end() && known->second >= visit.clock;
    }
    if (!reached)
      e.find(Kind::ExitedBlock, 0,
             "the block may exit before another block of its cluster has accessed its shared memory: no barrier makes "
             "it wait",
             &visit);
  }
}

std::string describeClusterWait(Exec &e, const Instr &in) {
  if (in.run != waitForCluster)
    return "";
  uint32_t missing = 0;
  for (const Block *block : e.block.cluster->blocks)
    for (const Warp &warp : block->warps)
      missing += uint32_t(std::popcount(warp.existing & ~warp.exited & ~warp.atCluster));
  return "the barrier of its cluster lacks " + std::to_string(missing) + " threads, and no other thread can run";
}

void addClusterForms(Table &table) {
  auto add = [&](const std::string &opcode, const char *signature, Handler run, Space space) {
    Form form;
    form.run = run;
    form.signature = signature;
    form.space = space;
    table.add(opcode, form);
  };
  add("mapa.shared::cluster.u32", "w=ww", mapAddress<uint32_t>, Space::Cluster);
  add("mapa.shared::cluster.u64", "d=dw", mapAddress<uint64_t>, Space::Cluster);
  add("mapa.u64", "d=dw", mapAddress<uint64_t>, Space::Generic);
  add("getctarank.shared::cluster.u32", "w=w", rankOfAddress<uint32_t>, Space::Cluster);
  add("getctarank.shared::cluster.u64", "w=d", rankOfAddress<uint64_t>, Space::Cluster);
  add("getctarank.u64", "w=d", rankOfAddress<uint64_t>, Space::Generic);
  for (const char *aligned : {"", ".aligned"}) {
    uint8_t flags = *aligned ? FlagAligned : 0;
    table.add(std::string("barrier.cluster.arrive") + aligned, "", arriveAtCluster, 0, flags);
    table.add(std::string("barrier.cluster.arrive.release") + aligned, "", arriveAtCluster, 0, flags);
    table.add(std::string("barrier.cluster.arrive.relaxed") + aligned, "", arriveAtCluster, Relaxed, flags);
    for (const char *order : {"", ".acquire"})
      table.add(std::string("barrier.cluster.wait") + order + aligned, "", waitForCluster, 0,
                uint8_t(flags | FlagControl));
  }
}

} // namespace tilewright::ptx
