//===- MbarrierOps.cpp - mbarrier, proxy fences, setmaxnreg ----------------------------------------===//
//
// A phase of an mbarrier completes after all expected arrivals and all expected bytes. The clocks of the arrivals are
// joined into the clock of each thread that observes the completion. try_wait suspends the thread until an event in its
// block, such as the completion of a phase of any mbarrier. Sometimes it returns false immediately, to test that the
// kernel retries. The 64-bit state of a phase contains the number of the phase in the low half and the number of
// pending arrivals in the high half.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>

namespace tilewright::ptx {
namespace {

enum : uint32_t {
  Drop = ModUser,
  Expects = ModUser * 2,
  NoComplete = ModUser * 4,
  Parity = ModUser * 8,
  Blocks = ModUser * 16,
  Increase = ModUser * 32
};
constexpr uint32_t kMaxCount = (1u << 20) - 1;

/// Returns an mbarrier of the thread's block.
Mbarrier *ownMbarrierAt(Exec &e, const Instr &in, uint32_t operand, uint32_t lane, uint64_t &address) {
  Block *owner = nullptr;
  Mbarrier *found = mbarrierAt(e, in, operand, lane, address, owner);
  if (!found || owner == &e.block)
    return found;
  e.find(Kind::BadOperand, lane,
         "the mbarrier is in another block of the cluster, but this instruction requires an mbarrier of its own block");
  return nullptr;
}

void completePhase(Block &block, Mbarrier &mbarrier) {
  mbarrier.completed.join(mbarrier.arriving, true, block.serial);
  mbarrier.pending = mbarrier.expected;
  mbarrier.passed = mbarrier.gathered;
  ++mbarrier.phase;
  wake(block);
}
void settle(Block &block, Mbarrier &mbarrier) {
  if (!mbarrier.pending && !mbarrier.bytes)
    completePhase(block, mbarrier);
}

void initialise(Exec &e, const Instr &in) {
  const uint32_t *counts = e.row<uint32_t>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address = e.address(in, 0, lane);
    if (!e.ownerOf(lane, address, /*anyBlock=*/false) || !e.inShared(lane, address, 8, 8, "an mbarrier"))
      return;
    uint32_t count = counts[lane];
    if (count < 1 || count > kMaxCount) {
      e.find(Kind::BadOperand, lane, "the count is " + std::to_string(count) + ", but must be 1 to 1048575");
      count = 1;
    }
    Accessor who = e.accessor(lane);
    if (const Epoch *other = e.block.shadow.write(who, address, 8))
      e.noteRace(lane, Space::Shared, address, *other, true, false);
    if (auto old = e.block.mbarriers.find(address); old != e.block.mbarriers.end())
      e.find(Kind::MbarrierMisuse, lane, "initialises an mbarrier that is in use: mbarrier.inval must come before",
             &old->second.init);
    Mbarrier made;
    made.expected = made.pending = count;
    made.agent = kWarpAgents + e.block.mbarriersMade++ % (kAgents - kWarpAgents);
    made.init = who.epoch;
    e.block.mbarriers[address] = std::move(made);
  });
}

void invalidate(Exec &e, const Instr &in) {
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address;
    if (!ownMbarrierAt(e, in, 0, lane, address))
      return;
    if (const Epoch *other = e.block.shadow.write(e.accessor(lane), address, 8))
      e.noteRace(lane, Space::Shared, address, *other, true, false);
    e.block.mbarriers.erase(address);
  });
}

void arrive(Exec &e, const Instr &in) {
  uint64_t *states = in.results ? e.row<uint64_t>(in, 0) : nullptr;
  uint32_t first = in.results;
  const uint32_t *given = in.sources > 1 ? e.row<uint32_t>(in, first + 1) : nullptr;
  std::map<const Mbarrier *, uint32_t> begun; // the phase of each mbarrier before the first lane's arrival
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address;
    Block *owner = nullptr;
    Mbarrier *mbarrier = mbarrierAt(e, in, first, lane, address, owner);
    if (states)
      states[lane] = 0;
    if (!mbarrier)
      return;
    if (owner != &e.block && states && e.grid.code.statement(e.pc).terms[0].kind != Term::Kind::Sink)
      e.find(Kind::BadOperand, lane, "an arrival at another block's mbarrier returns no state: its result must be _");
    if (begun.try_emplace(mbarrier, mbarrier->phase).first->second != mbarrier->phase) {
      e.find(Kind::MbarrierMisuse, lane,
             "earlier lanes of the warp completed the phase, so this lane arrives in the next phase: the count of " +
                 std::to_string(mbarrier->expected) + " differs from the number of arriving threads",
             &mbarrier->init);
      begun[mbarrier] = mbarrier->phase;
    }
    uint32_t count = given && !(in.mods & Expects) ? given[lane] : 1;
    if (states)
      states[lane] = mbarrier->phase | uint64_t(mbarrier->pending) << 32;
    if (in.mods & Expects) {
      mbarrier->bytes += given[lane];
      if (given[lane] > kMaxCount || mbarrier->bytes > kMaxCount)
        e.find(Kind::MbarrierMisuse, lane,
               "the phase is to wait for " + std::to_string(mbarrier->bytes) + " bytes, but the maximum is 1048575");
    }
    if (!count || count > mbarrier->pending) {
      e.find(Kind::MbarrierMisuse, lane,
             std::to_string(count) + " arrivals, but the phase lacks " + std::to_string(mbarrier->pending) + " of " +
                 std::to_string(mbarrier->expected),
             &mbarrier->init);
      return;
    }
    if (in.mods & NoComplete && count == mbarrier->pending) {
      e.find(Kind::MbarrierMisuse, lane, "the arrival completes the phase, which .noComplete forbids");
      return;
    }
    mbarrier->arriving.joinInto(owner->serial, e.warp.clock, e.block.serial);
    if (e.grid.timing)
      mbarrier->gathered = std::max(mbarrier->gathered, e.grid.timing->now());
    mbarrier->pending -= count;
    if (in.mods & Drop)
      mbarrier->expected -= std::min(mbarrier->expected, count);
    settle(*owner, *mbarrier);
  });
  ++e.warp.clock.own[e.warp.index];
}

template <int sign> void changeBytes(Exec &e, const Instr &in) {
  const uint32_t *bytes = e.row<uint32_t>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address;
    Block *owner = nullptr;
    if (Mbarrier *mbarrier = mbarrierAt(e, in, 0, lane, address, owner))
      completeBytes(*owner, *mbarrier, sign * int64_t(bytes[lane]));
  });
}

/// Returns true if a warp with the clock `clock` is ordered after all arrivals whose joined clock is `completed`.
bool isKnown(const VectorClock &clock, const VectorClock &completed) {
  for (uint32_t i = 0; i < kAgents; ++i)
    if (clock.own[i] < completed.own[i])
      return false;
  for (const auto &[agent, time] : completed.others)
    if (auto found = clock.others.find(agent); found == clock.others.end() || found->second < time)
      return false;
  return true;
}

void wait(Exec &e, const Instr &in) {
  uint32_t *result = e.row<uint32_t>(in, 0);
  uint32_t done = 0, pc = e.pc;
  bool early = false;
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address;
    Mbarrier *mbarrier = ownMbarrierAt(e, in, 1, lane, address);
    if (!mbarrier) {
      done |= 1u << lane;
      return;
    }
    bool complete;
    if (in.mods & Parity) {
      uint32_t parity = e.row<uint32_t>(in, 2)[lane];
      if (parity > 1)
        e.find(Kind::BadOperand, lane, "the parity of a phase must be 0 or 1, but is " + std::to_string(parity));
      complete = (mbarrier->phase & 1) != (parity & 1);
    } else {
      uint32_t phase = uint32_t(e.row<uint64_t>(in, 2)[lane]);
      complete = phase != mbarrier->phase;
      if (complete && phase + 1 != mbarrier->phase)
        e.find(Kind::MbarrierMisuse, lane,
               "the state is of phase " + std::to_string(phase) + ", but the mbarrier is in phase " +
                   std::to_string(mbarrier->phase) + ": only the current and the previous phase can be tested");
    }
    // If the thread is not ordered after the completion of the phase, the test could also have returned false.
    if (complete && !e.grid.timing && !isKnown(e.warp.clock, mbarrier->completed) && (e.grid.draw() & 3) == 0)
      complete = false, early = true;
    done |= uint32_t(complete) << lane;
    if (complete)
      e.warp.clock.join(mbarrier->completed, true, e.block.serial);
    if (complete && e.grid.timing)
      e.grid.timing->wait(e.warp, mbarrier->passed);
  });
  if (uint32_t stay = e.fragment->mask & ~e.mask)
    leave(e, stay, pc + 1);
  if (done != e.mask) {
    ++e.grid.polls;
    // Polling would add instructions to the measures of Timing.
    if (in.mods & Blocks && !early && (e.grid.timing || (e.grid.draw() & 1))) {
      e.fragment->state = Fragment::State::Waiting;
      return;
    }
  }
  forLanes(e.mask, [&](uint32_t lane) { result[lane] = done >> lane & 1; });
  e.written(e.operand(in, 0)) |= e.mask;
  e.fragment->state = Fragment::State::Ready;
  e.fragment->pc = pc + 1;
}

void pendingCount(Exec &e, const Instr &in) {
  uint32_t *result = e.row<uint32_t>(in, 0);
  const uint64_t *state = e.row<uint64_t>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) { result[lane] = uint32_t(state[lane] >> 32); });
}

void fenceProxy(Exec &e, const Instr &) {
  VectorClock &clock = e.warp.clock;
  for (uint32_t i = 0; i < kAgents; ++i)
    clock.fenced[i] = std::max(clock.fenced[i], clock.own[i]);
  for (auto &[address, mbarrier] : e.block.mbarriers)
    mbarrier.shown |= e.accessor(uint32_t(std::countr_zero(e.mask))).isAfter(mbarrier.init);
  ++clock.own[e.warp.index];
}
void fenceInit(Exec &e, const Instr &) {
  for (auto &[address, mbarrier] : e.block.mbarriers)
    mbarrier.shown |= mbarrier.init.warp == e.warp.index && (e.mask >> mbarrier.init.lane & 1);
  // A relaxed arrival at the cluster's barrier makes the initialization visible. This release also publishes earlier
  // accesses of the thread, so the interpreter does not find some races.
  if (e.block.cluster->blocks.size() > 1)
    e.release();
}

/// Returns the number of registers per thread at the launch: the largest multiple of 8 that is possible for the number
/// of threads in the block, but at most 255.
uint32_t launchedRegisters(const Exec &e) {
  uint32_t warps = uint32_t(e.block.warps.size());
  return std::min(255u, 65536 / (warps * kLanes) / 8 * 8);
}
uint32_t registersOf(const Exec &e, const Warp &warp) {
  return warp.registerLimit ? warp.registerLimit : launchedRegisters(e);
}

void setRegisters(Exec &e, const Instr &in) {
  uint32_t wanted = e.row<uint32_t>(in, 0)[0], lane = uint32_t(std::countr_zero(e.mask)), pc = e.pc;
  uint32_t present = registersOf(e, e.warp), pool = launchedRegisters(e) * uint32_t(e.block.warps.size()), used = 0;
  for (const Warp &warp : e.block.warps)
    used += &warp == &e.warp ? 0 : registersOf(e, warp); // exited warps keep registers until the block ends
  if (wanted < 24 || wanted > 256 || wanted % 8)
    e.find(Kind::BadOperand, lane,
           "the number of registers is " + std::to_string(wanted) + ", but must be a multiple of 8 from 24 to 256");
  else if (in.mods & Increase ? wanted < present : wanted > present)
    e.find(Kind::RegisterBudget, lane,
           std::string(in.mods & Increase ? "increases" : "decreases") + " to " + std::to_string(wanted) +
               " registers, but the threads have " + std::to_string(present));
  else if (used + wanted > pool) { // wait until other warps release registers
    e.fragment->state = Fragment::State::Waiting;
    return;
  } else {
    e.warp.registerLimit = wanted;
    wake(e.block);
  }
  e.fragment->state = Fragment::State::Ready;
  e.fragment->pc = pc + 1;
}

void ignoreDependents(Exec &, const Instr &) {}

} // namespace

Mbarrier *mbarrierAt(Exec &e, const Instr &in, uint32_t operand, uint32_t lane, uint64_t &address, Block *&owner) {
  address = e.address(in, operand, lane);
  owner = e.ownerOf(lane, address, in.space != Space::Shared);
  if (!owner || !e.inShared(lane, address, 8, 8, "an mbarrier"))
    return nullptr;
  auto found = owner->mbarriers.find(address);
  if (found == owner->mbarriers.end()) {
    e.find(Kind::MbarrierMisuse, lane, "there is no initialised mbarrier at this address");
    return nullptr;
  }
  Accessor who = e.accessor(lane, Epoch::Strong);
  if (const Epoch *other = owner->shadow.write(who, address, 8))
    e.noteRace(lane, Space::Shared, address, *other, true, true);
  // The shadow may contain a later strong access instead of the initialization.
  else if (!who.isAfter(found->second.init))
    e.noteRace(lane, Space::Shared, address, found->second.init, true, true);
  return &found->second;
}

void arriveAsync(Grid &grid, AsyncArrival &arrival) {
  Block &block = *arrival.block;
  Exec e{grid, block, block.warps[arrival.warp], nullptr};
  e.pc = arrival.pc;
  auto found = block.mbarriers.find(arrival.mbarrier);
  if (found == block.mbarriers.end()) {
    e.find(Kind::MbarrierMisuse, arrival.lane, "the mbarrier was invalidated before the copies completed");
    return;
  }
  Mbarrier &mbarrier = found->second;
  Accessor agent = e.accessor(arrival.lane);
  agent.epoch.warp = uint8_t(mbarrier.agent);
  agent.epoch.clock = ++block.agentClocks[mbarrier.agent];
  mbarrier.arriving.join(arrival.clock, true, block.serial);
  mbarrier.arriving.own[mbarrier.agent] = agent.epoch.clock;
  for (const PendingCopy &copy : arrival.copies) {
    agent.epoch.pc = copy.pc;
    // Latest known clock of the warp; a wait for the copies includes their clock.
    uint32_t &known = mbarrier.arriving.own[arrival.warp];
    known = std::max(known, *copy.done);
    e.finish(agent, copy);
  }
  if (!mbarrier.pending) {
    e.find(Kind::MbarrierMisuse, arrival.lane,
           "1 arrival, but the phase lacks 0 of " + std::to_string(mbarrier.expected), &mbarrier.init);
    return;
  }
  --mbarrier.pending;
  mbarrier.gathered = std::max(mbarrier.gathered, arrival.time);
  settle(block, mbarrier);
}

void completeBytes(Block &block, Mbarrier &mbarrier, int64_t bytes) {
  mbarrier.bytes -= bytes;
  settle(block, mbarrier);
}

std::string describeWait(Exec &e, const Instr &in) {
  if (in.run == setRegisters)
    return "setmaxnreg requests registers that the other warps do not release";
  if (std::string why = describeClusterWait(e, in); !why.empty())
    return why;
  uint32_t lane = uint32_t(std::countr_zero(e.mask));
  uint64_t address = e.address(in, 1, lane);
  e.ownerOf(lane, address, /*anyBlock=*/false);
  auto found = e.block.mbarriers.find(address);
  if (found == e.block.mbarriers.end())
    return "its mbarrier was invalidated";
  const Mbarrier &mbarrier = found->second;
  return "phase " + std::to_string(mbarrier.phase) + " of its mbarrier lacks " + std::to_string(mbarrier.pending) +
         " of " + std::to_string(mbarrier.expected) + " arrivals and " + std::to_string(mbarrier.bytes) +
         " bytes, and no other thread can run";
}

void addMbarrierForms(Table &table) {
  for (const auto &[space, window] : {std::pair<const char *, Space>{"", Space::Generic},
                                      {".shared", Space::Shared},
                                      {".shared::cta", Space::Shared},
                                      {".shared::cluster", Space::Cluster}}) {
    std::string tail = std::string(space) + ".b64";
    auto add = [&, window = window](const std::string &opcode, const char *signature, Handler run, uint32_t mods = 0,
                                    uint8_t flags = 0) {
      Form form;
      form.run = run;
      form.signature = signature;
      form.mods = mods;
      form.flags = flags;
      form.space = window;
      table.add(opcode, form);
    };
    add("mbarrier.init" + tail, "mw", initialise);
    add("mbarrier.inval" + tail, "m", invalidate);
    for (const char *order : {"", ".release.cta", ".release.cluster", ".relaxed.cta", ".relaxed.cluster"}) {
      std::string end = order + tail;
      for (bool drop : {false, true}) {
        std::string stem = drop ? "mbarrier.arrive_drop" : "mbarrier.arrive";
        uint32_t mods = drop ? Drop : 0;
        add(stem + end, "d=m?w", arrive, mods);
        add(stem + ".noComplete" + end, "d=mw", arrive, mods | NoComplete);
        add(stem + ".expect_tx" + end, "d=mw", arrive, mods | Expects);
      }
      add("mbarrier.expect_tx" + end, "mw", changeBytes<-1>);
      add("mbarrier.complete_tx" + end, "mw", changeBytes<1>);
    }
    for (const char *order : {"", ".acquire.cta", ".acquire.cluster", ".relaxed.cta", ".relaxed.cluster"}) {
      std::string end = order + tail;
      add("mbarrier.test_wait" + end, "p=md", wait, 0, FlagControl);
      add("mbarrier.test_wait.parity" + end, "p=mw", wait, Parity, FlagControl);
      add("mbarrier.try_wait" + end, "p=md?w", wait, Blocks, FlagControl);
      add("mbarrier.try_wait.parity" + end, "p=mw?w", wait, Blocks | Parity, FlagControl);
    }
  }
  table.add("mbarrier.pending_count.b64", "w=d", pendingCount);
  table.add("fence.mbarrier_init.release.cluster", "", fenceInit);
  for (const char *space : {"", ".global", ".shared::cta", ".shared::cluster"})
    table.add(std::string("fence.proxy.async") + space, "", fenceProxy);
  table.add("setmaxnreg.inc.sync.aligned.u32", "w", setRegisters, Increase, FlagControl | FlagAligned);
  table.add("setmaxnreg.dec.sync.aligned.u32", "w", setRegisters, 0, FlagControl | FlagAligned);
  table.add("griddepcontrol.wait", "", ignoreDependents);
  table.add("griddepcontrol.launch_dependents", "", ignoreDependents);
}

} // namespace tilewright::ptx
