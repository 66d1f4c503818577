//===- BarrierOps.cpp - the barriers of a block, and the end of threads ------------------------------------------===//
//
// A barrier counts threads. If all threads of a warp that have not exited arrive together, the barrier counts 32
// threads. Otherwise, it counts only the arriving threads. When the barrier completes, the clocks of all arrivals are
// joined into the clocks of all waiting threads. An error is reported if all threads of a warp exit while other warps
// wait for all threads of the block. The barrier then no longer waits for the exited warp, as on the hardware.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>

namespace tilewright::ptx {
namespace {

enum : uint32_t {
  Waits = ModUser,
  Popc = ModUser * 2,
  All = ModUser * 4,
  Any = ModUser * 8,
  HasPredicate = Popc | All | Any
};

/// Returns the number of threads for which a barrier without a thread count waits: 32 for each warp that has not
/// exited.
uint32_t allThreads(const Block &block) {
  uint32_t threads = 0;
  for (const Warp &warp : block.warps)
    if (!warp.done())
      threads += kLanes;
  return threads;
}

void deliver(Warp &warp, const Fragment &fragment, const Code &code, const Barrier &barrier) {
  const Instr &in = code.instrs[fragment.pc];
  if (!(in.mods & HasPredicate))
    return;
  uint32_t row = code.operands[in.operands];
  if (row == kNoRow)
    return;
  uint32_t value = in.mods & Popc ? barrier.trueCount : in.mods & All ? barrier.all : barrier.any;
  forLanes(fragment.mask, [&](uint32_t lane) { warp.registers[size_t(fragment.base + row) * kLanes + lane] = value; });
  warp.written[fragment.base + row] |= fragment.mask;
}

void arriveAtBarrier(Exec &e, const Instr &in) {
  uint32_t first = in.results, lane = uint32_t(std::countr_zero(e.mask)), pc = e.pc;
  uint32_t number = e.row<uint32_t>(in, first)[lane];
  uint32_t predicates = in.mods & HasPredicate ? 1 : 0;
  bool counted = in.sources > 1 + predicates;
  uint32_t expected = counted ? e.row<uint32_t>(in, first + 1)[lane] : allThreads(e.block);
  auto step = [&] {
    if (uint32_t stay = e.fragment->mask & ~e.mask)
      leave(e, stay, pc + 1);
    e.fragment->pc = pc + 1;
    e.fragment->state = Fragment::State::Ready;
  };
  if (!e.mask) {
    ++e.fragment->pc;
    return;
  }
  if (number > 15) {
    e.find(Kind::BadOperand, lane, "the number of the barrier is " + std::to_string(number) + ", but must be 0 to 15");
    return step();
  }
  if (counted && (expected == 0 || expected % kLanes)) {
    e.find(Kind::BadOperand, lane,
           "the number of threads is " + std::to_string(expected) + ", but must be a multiple of 32");
    return step();
  }
  uint32_t gone = 0;
  for (const Warp &warp : e.block.warps)
    gone += uint32_t(std::popcount(warp.exited));
  if (!counted && gone)
    e.find(Kind::ExitAtBarrier, lane,
           "waits for all threads of the block, but " + std::to_string(gone) + " have exited");
  Barrier &barrier = e.block.barriers[number];
  uint32_t live = e.warp.existing & ~e.warp.exited;
  uint32_t came = e.mask == live ? kLanes : uint32_t(std::popcount(e.mask));
  if (barrier.arrived == 0) {
    barrier = Barrier();
    barrier.expected = expected;
    barrier.counted = counted;
    barrier.pc = pc;
    barrier.firstWarp = e.warp.index;
  } else if (barrier.expected != expected) {
    Epoch other;
    other.block = e.block.serial;
    other.warp = uint8_t(barrier.firstWarp);
    other.pc = barrier.pc;
    e.find(Kind::BarrierMismatch, lane,
           "barrier " + std::to_string(number) + " is for " + std::to_string(expected) + " threads here, but for " +
               std::to_string(barrier.expected) + " there",
           &other);
  }
  barrier.arrived += came;
  barrier.clock.join(e.warp.clock, true, e.block.serial);
  if (e.grid.timing)
    barrier.time = std::max(barrier.time, e.grid.timing->now());
  ++e.warp.clock.own[e.warp.index];
  if (predicates) {
    const uint32_t *predicate = e.row<uint32_t>(in, first + in.sources - 1);
    forLanes(e.mask, [&](uint32_t l) {
      bool value = predicate[l] & 1;
      barrier.trueCount += value;
      barrier.all &= value;
      barrier.any |= value;
    });
  }
  if (in.mods & Waits) {
    if (uint32_t stay = e.fragment->mask & ~e.mask)
      leave(e, stay, pc + 1);
    e.fragment->state = Fragment::State::AtBarrier;
    e.fragment->barrier = uint8_t(number);
  } else
    step();
  if (barrier.arrived > barrier.expected)
    e.find(Kind::BarrierMismatch, lane,
           "barrier " + std::to_string(number) + " is for " + std::to_string(barrier.expected) + " threads, but " +
               std::to_string(barrier.arrived) + " have arrived");
  if (barrier.arrived >= barrier.expected)
    completeBarrier(e.grid, e.block, number);
}

void warpSync(Exec &e, const Instr &) { ++e.warp.clock.own[e.warp.index]; }

} // namespace

void completeBarrier(Grid &grid, Block &block, uint32_t number) {
  Barrier &barrier = block.barriers[number];
  for (Warp &warp : block.warps)
    for (Fragment &fragment : warp.fragments) {
      if (fragment.state != Fragment::State::AtBarrier || fragment.barrier != number)
        continue;
      warp.clock.join(barrier.clock, true, block.serial);
      if (grid.timing)
        grid.timing->wait(warp, barrier.time + Timing::kBarrier);
      deliver(warp, fragment, grid.code, barrier);
      ++fragment.pc;
      fragment.state = Fragment::State::Ready;
    }
  barrier.arrived = 0;
}

void exitLanes(Exec &e, uint32_t mask) {
  e.warp.exited |= mask;
  e.fragment->mask &= ~mask;
  uint32_t lane = uint32_t(std::countr_zero(mask));
  if (!e.fragment->mask) {
    e.warp.fragments.pop_back();
    if (!e.warp.fragments.empty())
      e.fragment = &e.warp.fragments.back();
  }
  e.block.endPc = e.pc;
  if (e.block.cluster->waited)
    settleCluster(*e.block.cluster);
  if (!e.warp.done())
    return;
  // All threads of the warp have exited. Check whether other threads wait for them at a barrier.
  for (uint32_t number = 0; number < e.block.barriers.size(); ++number) {
    Barrier &barrier = e.block.barriers[number];
    uint32_t all = allThreads(e.block);
    if (!barrier.arrived || barrier.counted)
      continue;
    Epoch other;
    other.block = e.block.serial;
    other.warp = uint8_t(barrier.firstWarp);
    other.pc = barrier.pc;
    e.find(Kind::ExitAtBarrier, lane,
           "exits while other warps wait at barrier " + std::to_string(number) + " for all threads of the block",
           &other);
    barrier.expected = all;
    if (barrier.arrived >= barrier.expected)
      completeBarrier(e.grid, e.block, number);
  }
}

void addBarrierForms(Table &table) {
  for (const char *stem : {"bar", "bar.cta", "barrier", "barrier.cta", "barrier.ALIGNED", "barrier.cta.ALIGNED"}) {
    std::string base = stem;
    bool aligned = base.compare(0, 7, "barrier") != 0;
    std::string suffix;
    if (size_t at = base.find(".ALIGNED"); at != std::string::npos) {
      base.resize(at);
      suffix = ".aligned";
      aligned = true;
    }
    uint8_t flags = uint8_t(FlagControl | (aligned ? FlagAligned : 0));
    table.add(base + ".sync" + suffix, "w?w", arriveAtBarrier, Waits, flags);
    table.add(base + ".arrive" + suffix, "ww", arriveAtBarrier, 0, flags);
    table.add(base + ".red.popc" + suffix + ".u32", "w=wWp", arriveAtBarrier, Waits | Popc, flags);
    table.add(base + ".red.and" + suffix + ".pred", "p=wWp", arriveAtBarrier, Waits | All, flags);
    table.add(base + ".red.or" + suffix + ".pred", "p=wWp", arriveAtBarrier, Waits | Any, flags);
  }
  table.add("bar.warp.sync", "w", warpSync, 0, FlagMember);
}

} // namespace tilewright::ptx
