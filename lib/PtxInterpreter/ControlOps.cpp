//===- ControlOps.cpp - branches, calls, exit ------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Handlers.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {
namespace {

constexpr uint64_t kMaxLocal = 1 << 20; ///< maximum bytes of local memory per thread

void branchTable(Exec &e, const Instr &in) {
  const std::vector<uint32_t> &targets = e.grid.code.tables[in.target];
  const uint32_t *index = e.row<uint32_t>(in, 0);
  uint32_t stay = e.fragment->mask & ~e.mask, pc = e.pc;
  uint32_t rest = e.mask;
  while (rest) {
    uint32_t lane = uint32_t(std::countr_zero(rest)), value = index[lane], group = 0;
    forLanes(rest, [&](uint32_t other) { group |= uint32_t(index[other] == value) << other; });
    rest &= ~group;
    if (value >= targets.size()) {
      e.find(Kind::BadOperand, lane,
             "the index is " + std::to_string(value) + ", but the table has " + std::to_string(targets.size()) +
                 " labels");
      exitLanes(e, group);
      if (e.warp.done())
        return;
      continue;
    }
    if (!rest && !stay) {
      e.fragment->pc = targets[value];
      return;
    }
    leave(e, group, targets[value]);
  }
  if (!e.warp.done() && e.fragment->mask & stay)
    e.fragment->pc = pc + 1;
}

void call(Exec &e, const Instr &in) {
  const Code &code = e.grid.code;
  const CallSite &site = code.calls[in.target];
  const CodeFunction &callee = code.functions[site.function];
  uint32_t pc = e.pc;
  if (uint32_t stay = e.fragment->mask & ~e.mask) { // lanes whose guard is false continue after the call
    leave(e, stay, pc + 1);
  }
  Fragment &fragment = *e.fragment;
  const CodeFunction &caller = code.functions[in.function];
  uint64_t localBase = fragment.localBase + caller.frameBytes, top = localBase + callee.frameBytes;
  if (top > kMaxLocal) {
    e.find(Kind::OutOfBounds, uint32_t(std::countr_zero(e.mask)),
           "calls nest so deep that a thread's stack is over " + std::to_string(kMaxLocal) + " bytes");
    exitLanes(e, e.fragment->mask);
    return;
  }
  forLanes(e.mask, [&](uint32_t lane) {
    Lane &state = e.warp.lanes[lane];
    if (state.local.size() < top)
      state.local.resize(top);
    for (const CallSite::Copy &copy : site.in)
      std::memcpy(state.local.data() + localBase + copy.callee, state.local.data() + fragment.localBase + copy.caller,
                  copy.bytes);
  });
  fragment.frames.push_back({pc + 1, fragment.base, in.target, fragment.localBase});
  fragment.base += caller.rows;
  fragment.localBase = localBase;
  fragment.pc = callee.entry;
  size_t rows = size_t(fragment.base) + callee.rows;
  if (e.warp.written.size() < rows) {
    e.warp.registers.resize(rows * kLanes);
    e.warp.written.resize(rows);
  }
  for (uint32_t row = 0; row < callee.rows; ++row)
    e.warp.written[fragment.base + row] &= ~e.mask;
}

void exitThread(Exec &e, const Instr &) {
  uint32_t stay = e.fragment->mask & ~e.mask, pc = e.pc;
  exitLanes(e, e.mask);
  if (stay)
    e.fragment->pc = pc + 1;
}

void trap(Exec &e, const Instr &in) {
  e.find(Kind::BadOperand, uint32_t(std::countr_zero(e.mask)), "the kernel traps here");
  exitThread(e, in);
}
void breakpoint(Exec &, const Instr &) {}

} // namespace

void leave(Exec &e, uint32_t mask, uint32_t pc) {
  Fragment parted = *e.fragment;
  parted.mask = mask;
  parted.pc = pc;
  parted.state = Fragment::State::Ready;
  e.fragment->mask &= ~mask;
  e.warp.fragments.insert(e.warp.fragments.begin(), std::move(parted));
  e.fragment = &e.warp.fragments.back();
}

void branch(Exec &e, const Instr &in) {
  uint32_t stay = e.fragment->mask & ~e.mask, pc = e.pc;
  if (!stay) {
    e.fragment->pc = in.target;
    return;
  }
  if (e.mask)
    leave(e, e.mask, in.target);
  e.fragment->pc = pc + 1;
}

void leaveFunction(Exec &e, const Instr &in) {
  if (e.fragment->frames.empty())
    return exitThread(e, in);
  uint32_t pc = e.pc;
  if (uint32_t stay = e.fragment->mask & ~e.mask)
    leave(e, stay, pc + 1);
  Fragment &fragment = *e.fragment;
  Frame frame = fragment.frames.back();
  fragment.frames.pop_back();
  const CallSite &site = e.grid.code.calls[frame.call];
  forLanes(fragment.mask, [&](uint32_t lane) {
    Lane &state = e.warp.lanes[lane];
    for (const CallSite::Copy &copy : site.out)
      std::memcpy(state.local.data() + frame.localBase + copy.caller,
                  state.local.data() + fragment.localBase + copy.callee, copy.bytes);
  });
  fragment.base = frame.base;
  fragment.localBase = frame.localBase;
  fragment.pc = frame.returnPc;
}

void addControlForms(Table &table) {
  for (const char *opcode : {"bra", "bra.uni"})
    table.add(opcode, "branch", branch, 0, FlagControl);
  for (const char *opcode : {"brx.idx", "brx.idx.uni"})
    table.add(opcode, "table", branchTable, 0, FlagControl);
  for (const char *opcode : {"call", "call.uni"})
    table.add(opcode, "call", call, 0, FlagControl);
  for (const char *opcode : {"ret", "ret.uni"})
    table.add(opcode, "", leaveFunction, 0, FlagControl);
  table.add("exit", "", exitThread, 0, FlagControl);
  table.add("trap", "", trap, 0, FlagControl);
  table.add("brkpt", "", breakpoint);
}

} // namespace tilewright::ptx
