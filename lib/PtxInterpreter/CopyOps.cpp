//===- CopyOps.cpp - cp.async and its groups ----------------------------------------===//
//
// A cp.async copy is executed as late as possible. It is executed when its thread waits for the copy's group, or when a
// cp.async.mbarrier.arrive of the thread arrives at its mbarrier. Until then, any access to the destination and any
// write to the source is reported as an error. Without such a wait or arrival, the copy is never executed.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {
namespace {

enum : uint32_t { NoIncrease = ModUser };
constexpr uint32_t kMaxArrivals = (1u << 20) - 1;

void copy(Exec &e, const Instr &in) {
  uint64_t to[kLanes], from[kLanes];
  std::fill_n(to, kLanes, ~uint64_t(0));
  std::fill_n(from, kLanes, ~uint64_t(0));
  uint32_t size = e.row<uint32_t>(in, 2)[0];
  const uint32_t *sizes = in.sources > 3 ? e.row<uint32_t>(in, 3) : nullptr;
  forLanes(e.mask, [&](uint32_t lane) {
    PendingCopy pending;
    pending.to = e.address(in, 0, lane, 0) & ~kWindowMask;
    pending.from = e.address(in, 1, lane, 1);
    pending.bytes = size;
    pending.read = sizes ? sizes[lane] : size;
    pending.pc = e.pc;
    if (pending.read > size) {
      e.find(Kind::BadOperand, lane,
             "copies " + std::to_string(size) + " bytes, but the number of bytes to read is " +
                 std::to_string(pending.read));
      pending.read = size;
    }
    to[lane] = pending.to;
    Space shared = Space::Shared, global = Space::Global;
    uint64_t target = pending.to, source = pending.from;
    Accessor who = e.accessor(lane, Epoch::Async);
    if (!e.locate(lane, shared, target, size, Access::Write))
      return;
    pending.to = target;
    if (const Epoch *other = e.block.shadow.write(who, target, size))
      e.noteRace(lane, Space::Shared, target, *other, true, false);
    if (source & (size - 1)) {
      e.find(Kind::Misaligned, lane, "the source of the copy is not a multiple of " + std::to_string(size) + " bytes");
      return;
    }
    if (pending.read) {
      from[lane] = source;
      // The copy may read fewer bytes than it writes. Check the bounds of the source only for the bytes that are read.
      if (e.objectAt(source, pending.read) == nullptr) {
        e.locate(lane, global, source, pending.read, Access::Read);
        pending.read = 0;
      } else {
        GlobalObject &object = e.grid.objects[e.grid.lastObject];
        if (const Epoch *other = object.shadow.read(who, source - object.begin, pending.read))
          e.noteRace(lane, Space::Global, source, *other, false, true);
        if (!object.written.empty() && std::memchr(object.written.data() + (source - object.begin), 0, pending.read))
          e.find(Kind::UninitialisedMemory, lane,
                 "copies bytes of '" + object.allocation->name + "' that nothing has written");
      }
    }
    e.warp.lanes[lane].copies.push_back(pending);
  });
  e.countShared(to, size);
  e.countGlobal(from, size, /*write=*/false);
}

void commitCopyGroup(Exec &e, const Instr &) {
  forLanes(e.mask, [&](uint32_t lane) {
    Lane &state = e.warp.lanes[lane];
    state.groups.push_back(std::move(state.copies));
    state.copies.clear();
  });
}

void waitFor(Exec &e, uint32_t allowed, bool all) {
  bool followed = false; // true if an mbarrier makes the copies visible to other threads, including those of this warp
  forLanes(e.mask, [&](uint32_t lane) {
    Lane &state = e.warp.lanes[lane];
    while (state.groups.size() > allowed) {
      for (const PendingCopy &pending : state.groups.front()) {
        e.finish(lane, pending);
        followed |= pending.done != nullptr;
      }
      state.groups.pop_front();
    }
    if (all) {
      for (const PendingCopy &pending : state.copies) {
        e.finish(lane, pending);
        followed |= pending.done != nullptr;
      }
      state.copies.clear();
    }
  });
  e.warp.clock.own[e.warp.index] += followed;
}
/// Executes cp.async.mbarrier.arrive. The arrival at the mbarrier occurs when all earlier copies of the thread are
/// complete. The instruction increments the number of expected arrivals, unless it has the modifier .noinc.
void arriveAfterCopies(Exec &e, const Instr &in) {
  forLanes(e.mask, [&](uint32_t lane) {
    AsyncArrival arrival;
    Mbarrier *mbarrier = mbarrierAt(e, in, 0, lane, arrival.mbarrier, arrival.block);
    if (!mbarrier)
      return;
    if (arrival.block != &e.block) {
      e.find(Kind::BadOperand, lane,
             "copies of a thread cannot arrive at the mbarrier of another block of the cluster");
      return;
    }
    if (!(in.mods & NoIncrease) && ++mbarrier->pending > kMaxArrivals)
      e.find(Kind::MbarrierMisuse, lane, "the phase would wait for more than 1048575 arrivals", &mbarrier->init);
    arrival.warp = e.warp.index;
    arrival.lane = lane;
    arrival.pc = e.pc;
    arrival.clock = e.warp.clock;
    if (e.grid.timing)
      arrival.time = std::max(e.grid.timing->now(), e.warp.times.copies);
    auto follow = [&](std::vector<PendingCopy> &copies) {
      for (PendingCopy &copy : copies) {
        if (!copy.done)
          copy.done = std::make_shared<uint32_t>(0);
        if (!*copy.done)
          arrival.copies.push_back(copy);
      }
    };
    for (auto &group : e.warp.lanes[lane].groups)
      follow(group);
    follow(e.warp.lanes[lane].copies);
    e.grid.arrivals.push_back(std::move(arrival));
  });
  ++e.warp.clock.own[e.warp.index];
}
void waitCopyGroup(Exec &e, const Instr &in) { waitFor(e, e.row<uint32_t>(in, 0)[0], false); }
void waitAll(Exec &e, const Instr &) { waitFor(e, 0, true); }

} // namespace

void Exec::finish(uint32_t lane, const PendingCopy &copy) {
  Accessor who = accessor(lane);
  who.epoch.pc = copy.pc;
  finish(who, copy);
}

void Exec::finish(const Accessor &who, const PendingCopy &copy) {
  if (copy.done && *copy.done)
    return;
  if (copy.done)
    *copy.done = warp.clock.own[warp.index];
  uint8_t *to = block.shared.data() + copy.to;
  std::memset(to, 0, copy.bytes);
  if (copy.read) {
    std::memcpy(to, reinterpret_cast<const uint8_t *>(copy.from), copy.read);
    GlobalObject *object = objectAt(copy.from, copy.read);
    Epoch issuer = who.epoch;
    issuer.warp = uint8_t(warp.index);
    object->shadow.finishRead(issuer, who.epoch, copy.from - object->begin, copy.read);
  }
  std::memset(block.sharedWritten.data() + copy.to, 1, copy.bytes);
  block.shadow.finishWrite(who, copy.to, copy.bytes);
}

void addCopyForms(Table &table) {
  for (const char *cache : {".ca", ".cg"})
    for (const char *space : {".shared.global", ".shared::cta.global"})
      for (const char *hint : {"", ".L2::64B", ".L2::128B", ".L2::256B"})
        table.add(std::string("cp.async") + cache + space + hint, "mmw?w", copy);
  table.add("cp.async.commit_group", "", commitCopyGroup);
  table.add("cp.async.wait_group", "w", waitCopyGroup);
  table.add("cp.async.wait_all", "", waitAll);
  for (const char *space : {"", ".shared", ".shared::cta"})
    for (bool increases : {true, false}) {
      Form form;
      form.run = arriveAfterCopies;
      form.signature = "m";
      form.mods = increases ? 0 : NoIncrease;
      form.space = *space ? Space::Shared : Space::Generic;
      table.add(std::string("cp.async.mbarrier.arrive") + (increases ? "" : ".noinc") + space + ".b64", form);
    }
}

} // namespace tilewright::ptx
