//===- Scheduler.cpp - selection of the next warp to run, and for how long ---------------===//
//
// The scheduler tries to expose races. From the seed, it pseudorandomly chooses the order of the warps of the resident
// blocks, and the number of instructions for which each warp runs. In a warp, it runs the fragment with the deepest
// call stack and the lowest address, so that diverged lanes merge again. Sometimes it runs another fragment, so that
// lanes that wait for each other make progress.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Machine.h"

#include <algorithm>
#include <bit>

namespace tilewright::ptx {
namespace {

bool samePosition(const Fragment &a, const Fragment &b) {
  if (a.pc != b.pc || a.frames.size() != b.frames.size() || a.base != b.base || a.localBase != b.localBase)
    return false;
  for (size_t i = 0; i < a.frames.size(); ++i)
    if (a.frames[i].returnPc != b.frames[i].returnPc || a.frames[i].localBase != b.frames[i].localBase)
      return false;
  return true;
}

/// Merges fragments at the same instruction, and moves the fragment that should run to the end of the list. Returns
/// false if no fragment can run.
bool choose(Grid &grid, Warp &warp) {
  auto &list = warp.fragments;
  for (size_t i = 0; i < list.size(); ++i)
    for (size_t j = i + 1; j < list.size();)
      if (list[i].state != Fragment::State::AtBarrier && list[j].state != Fragment::State::AtBarrier &&
          samePosition(list[i], list[j])) {
        list[i].mask |= list[j].mask;
        list[i].state = Fragment::State::Ready;
        list.erase(list.begin() + std::ptrdiff_t(j));
      } else
        ++j;
  size_t best = list.size();
  bool fair = list.size() > 1 && (grid.draw() & 15) == 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].state != Fragment::State::Ready)
      continue;
    if (best == list.size() ||
        (fair ? (grid.draw() & 1) == 0
              : list[i].frames.size() > list[best].frames.size() ||
                    (list[i].frames.size() == list[best].frames.size() && list[i].pc < list[best].pc)))
      best = i;
  }
  if (best == list.size())
    return false;
  if (best + 1 != list.size())
    std::swap(list[best], list.back());
  return true;
}

uint32_t required(const Exec &e, const Instr &in) {
  if (in.flags & FlagAligned)
    return e.warp.existing & ~e.warp.exited;
  uint32_t lane = uint32_t(std::countr_zero(e.mask));
  return e.row<uint32_t>(in, uint32_t(in.results + in.sources) - 1)[lane] & e.warp.existing;
}

/// Reports source registers without a value. Then marks these registers as written, so that each is reported once.
void checkSources(Exec &e, const Instr &in) {
  for (uint32_t i = in.results; i < uint32_t(in.results) + in.sources; ++i) {
    uint32_t row = e.operand(in, i);
    if (row & kPool)
      continue;
    uint32_t missing = e.mask & ~e.written(row);
    if (!missing)
      continue;
    const CodeFunction &function = e.grid.code.functions[in.function];
    std::string name = "a register";
    for (size_t r = 0; r < function.rowOf.size(); ++r)
      if (function.rowOf[r] == row)
        name = function.syntax->registers[r].name;
    e.find(Kind::UninitialisedRegister, uint32_t(std::countr_zero(missing)), name + " is read before it is written");
    e.written(row) |= missing;
  }
}

void setWritten(Exec &e, const Instr &in) {
  uint32_t mask = e.mask;
  if (in.flags & FlagMove)
    for (uint32_t i = in.results; i < uint32_t(in.results) + in.sources; ++i)
      if (uint32_t row = e.operand(in, i); !(row & kPool))
        mask &= e.written(row);
  for (uint32_t i = 0; i < in.results; ++i)
    if (uint32_t row = e.operand(in, i); row != kNoRow && !(row & kPool)) {
      e.written(row) = (e.written(row) & ~e.mask) | mask;
      // The check for wgmma.fence ignores mov instructions: compilers insert them anywhere, and ptxas removes them.
      if (uint32_t at = e.fragment->base + row; at < e.warp.unfenced.size() && !(in.flags & (FlagMove | FlagMatrix)))
        e.warp.unfenced[at] = 1;
    }
}

/// Runs a warp for up to `quantum` instructions. Returns false if the warp could not execute any instruction.
bool runWarp(Grid &grid, Block &block, Warp &warp, uint32_t quantum) {
  bool moved = false;
  const Code &code = grid.code;
  while (quantum) {
    if (warp.done() || !choose(grid, warp))
      return moved;
    bool alone = warp.fragments.size() == 1; // false: fragments may merge after any instruction
    Exec e{grid, block, warp, &warp.fragments.back()};
    e.operands = code.operands.data();
    while (quantum) {
      Fragment &fragment = *e.fragment;
      const Instr &in = code.instrs[fragment.pc];
      e.pc = fragment.pc;
      e.registers = warp.registers.data() + size_t(fragment.base) * kLanes;
      e.mask = fragment.mask;
      if (in.guard != kNoRow) {
        const uint32_t *guard = e.rowAt<uint32_t>(in.guard);
        uint32_t value = 0;
        for (uint32_t lane = 0; lane < kLanes; ++lane)
          value |= (guard[lane] & 1) << lane;
        if (uint32_t missing = e.mask & ~e.written(in.guard)) {
          e.find(Kind::UninitialisedRegister, uint32_t(std::countr_zero(missing)),
                 "the guard is read before it is written");
          e.written(in.guard) |= missing;
        }
        e.mask &= in.guardNegated ? ~value : value;
        if (!e.mask) {
          ++fragment.pc;
          --quantum;
          ++grid.steps;
          moved = true;
          if (!alone)
            break;
          continue;
        }
      }
      if (in.flags & (FlagAligned | FlagMember) && fragment.state == Fragment::State::Ready) {
        uint32_t wanted = required(e, in);
        if (wanted & ~e.mask && fragment.mask != (warp.existing & ~warp.exited)) {
          fragment.state = Fragment::State::Converging;
          break;
        }
        if (uint32_t missing = wanted & ~e.mask)
          e.find(Kind::BarrierDivergence, uint32_t(std::countr_zero(missing)),
                 warp.exited >> std::countr_zero(missing) & 1
                     ? "all threads that the instruction names must execute it, but this thread has exited"
                     : "all threads that the instruction names must execute it, but the guard disables this thread");
      }
      if (!(in.flags & FlagMove))
        checkSources(e, in);
      if (!warp.inFlight.empty() && !(in.flags & FlagMatrix))
        checkInFlight(e, in);
      --quantum;
      ++grid.steps;
      moved = true;
      const uint32_t pc = e.pc, base = fragment.base;
      if (grid.timing)
        grid.timing->begin(e, in);
      in.run(e, in);
      if (grid.timing)
        grid.timing->end(e, in, pc, base);
      if (in.flags & FlagControl)
        break; // the instruction may have added or removed fragments
      setWritten(e, in);
      ++fragment.pc;
      if (!alone)
        break;
    }
  }
  return moved;
}

/// Resolves a warp in which no fragment is ready. If a fragment waits for lanes that can no longer reach its
/// instruction, reports an error and lets the fragment continue without them.
bool breakDivergence(Grid &grid, Block &block, Warp &warp) {
  for (size_t i = 0; i < warp.fragments.size(); ++i) {
    if (warp.fragments[i].state != Fragment::State::Converging)
      continue;
    std::swap(warp.fragments[i], warp.fragments.back());
    Exec e{grid, block, warp, &warp.fragments.back()};
    e.operands = grid.code.operands.data();
    e.pc = e.fragment->pc;
    e.mask = e.fragment->mask;
    e.registers = warp.registers.data() + size_t(e.fragment->base) * kLanes;
    const Instr &in = grid.code.instrs[e.pc];
    Epoch other;
    for (const Fragment &fragment : warp.fragments)
      if (&fragment != e.fragment) {
        other.block = block.serial;
        other.warp = uint8_t(warp.index);
        other.lane = uint8_t(std::countr_zero(fragment.mask));
        other.pc = fragment.pc;
      }
    uint32_t missing = required(e, in) & ~e.mask;
    e.find(Kind::BarrierDivergence, uint32_t(std::countr_zero(e.mask)),
           std::to_string(std::popcount(missing)) +
               " of the warp's threads that the instruction needs are at other instructions" +
               (warp.exited & required(e, in) ? " or have exited" : ""),
           other.block ? &other : nullptr);
    // Run the instruction with the lanes of this fragment. The fragment's state records that it no longer waits for
    // other lanes.
    in.run(e, in);
    if (!(in.flags & FlagControl)) {
      setWritten(e, in);
      ++e.fragment->pc;
      e.fragment->state = Fragment::State::Ready;
    } else if (e.fragment->state == Fragment::State::Converging)
      e.fragment->state = Fragment::State::Ready;
    return true;
  }
  return false;
}

uint32_t clusterSize(const Grid &grid) { return grid.cluster[0] * grid.cluster[1] * grid.cluster[2]; }

/// Starts the next block of the cluster.
void start(Grid &grid, const std::shared_ptr<Cluster> &cluster) {
  const Launch &launch = grid.launch;
  const CodeFunction &kernel = grid.code.functions[0];
  uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  auto block = std::make_unique<Block>();
  block->serial = ++grid.nextBlock;
  block->cluster = cluster;
  uint32_t rank = block->rank = uint32_t(cluster->blocks.size());
  block->index = {rank % grid.cluster[0], rank / grid.cluster[0] % grid.cluster[1],
                  rank / grid.cluster[0] / grid.cluster[1]};
  for (size_t i = 0; i < 3; ++i)
    block->index[i] += cluster->index[i] * grid.cluster[i];
  grid.started.push_back(block->index);
  cluster->blocks.push_back(block.get());
  block->shared.resize(grid.code.sharedBytes);
  block->sharedWritten.resize(grid.code.sharedBytes);
  if (!grid.timing)
    block->shadow.reset(grid.code.sharedBytes);
  block->warps.resize((threads + kLanes - 1) / kLanes);
  for (uint32_t i = 0; i < block->warps.size(); ++i) {
    Warp &warp = block->warps[i];
    warp.block = block.get();
    warp.index = i;
    uint32_t lanes = std::min(kLanes, threads - i * kLanes);
    warp.existing = lanes == kLanes ? ~0u : (1u << lanes) - 1;
    warp.clock.own[i] = 1;
    warp.registers.resize(size_t(kernel.rows) * kLanes);
    warp.written.resize(kernel.rows);
    Fragment fragment;
    fragment.pc = kernel.entry;
    fragment.mask = warp.existing;
    warp.fragments.push_back(std::move(fragment));
    if (kernel.frameBytes)
      for (Lane &lane : warp.lanes)
        lane.local.resize(kernel.frameBytes);
  }
  grid.running.push_back(std::move(block));
}

void startCluster(Grid &grid, const std::vector<uint32_t> &order) {
  uint32_t size = clusterSize(grid), number = grid.nextBlock / size;
  if (!order.empty())
    number = order[number];
  auto cluster = std::make_shared<Cluster>();
  uint32_t across = grid.launch.grid[0] / grid.cluster[0], down = grid.launch.grid[1] / grid.cluster[1];
  cluster->index = {number % across, number / across % down, number / across / down};
  cluster->arriving.resize(size);
  cluster->completed.resize(size);
  cluster->live = size;
  for (uint32_t i = 0; i < size; ++i)
    start(grid, cluster);
}

/// Ends blocks whose warps have all exited; their memory remains while other blocks of the cluster run.
void endBlocks(Grid &grid) {
  for (auto &block : grid.running)
    if (!block->ended &&
        std::all_of(block->warps.begin(), block->warps.end(), [](const Warp &warp) { return warp.done(); })) {
      if (grid.timing)
        grid.timing->endBlock(*block);
      endBlock(grid, *block);
      block->ended = true;
      --block->cluster->live;
    }
  std::erase_if(grid.running, [](const auto &block) { return !block->cluster->live; });
}

} // namespace

void wake(Block &block) {
  for (Warp &warp : block.warps)
    for (Fragment &fragment : warp.fragments)
      if (fragment.state == Fragment::State::Waiting)
        fragment.state = Fragment::State::Ready;
}

void endBlock(Grid &grid, Block &block) {
  for (Warp &warp : block.warps) {
    Exec e{grid, block, warp, nullptr};
    endBulk(e);
    endMatrixJobs(e);
  }
  Exec e{grid, block, block.warps[0], nullptr};
  e.pc = block.endPc;
  checkVisitors(e);
}

namespace {

void reportDeadlock(Grid &grid) {
  grid.report.finished = false;
  for (auto &block : grid.running)
    for (Warp &warp : block->warps)
      for (Fragment &fragment : warp.fragments) {
        Exec e{grid, *block, warp, &fragment};
        e.pc = fragment.pc;
        if (fragment.state == Fragment::State::Waiting) {
          e.operands = grid.code.operands.data();
          e.mask = fragment.mask;
          e.registers = warp.registers.data() + size_t(fragment.base) * kLanes;
          e.find(Kind::Deadlock, uint32_t(std::countr_zero(fragment.mask)),
                 "waits for ever: " + describeWait(e, grid.code.instrs[fragment.pc]));
          continue;
        }
        uint32_t number = fragment.barrier;
        const Barrier &barrier = block->barriers[number & 15];
        e.find(Kind::Deadlock, uint32_t(std::countr_zero(fragment.mask)),
               "waits for ever: barrier " + std::to_string(number) + " has " + std::to_string(barrier.arrived) +
                   " of " + std::to_string(barrier.expected) + " threads, and no other thread can run");
      }
}

/// Runs the warp that is behind all others for some instructions, after the loads that complete before. The warps then
/// use the units of the multiprocessor in the order of time.
bool runInTime(Grid &grid, std::vector<Warp *> &ready) {
  std::sort(ready.begin(), ready.end(),
            [](const Warp *a, const Warp *b) { return Timing::endOf(*a) < Timing::endOf(*b); });
  for (Warp *warp : ready) {
    if (deliverLoad(grid, Timing::endOf(*warp)))
      return true;
    if (runWarp(grid, *warp->block, *warp, 16))
      return true;
  }
  return false;
}

} // namespace

void runGrid(Grid &grid) {
  const Launch &launch = grid.launch;
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  std::vector<uint32_t> order;
  uint32_t size = clusterSize(grid);
  auto hasCapacity = [&] { return grid.running.empty() || grid.running.size() + size <= launch.residentBlocks; };
  if (launch.seed) {
    order.resize(blocks / size);
    for (uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[grid.draw() % i]);
  }
  if (launch.sampledClusters && launch.sampledClusters < blocks / size) {
    const uint64_t count = launch.sampledClusters, last = blocks / size - 1;
    order.clear();
    for (uint64_t i = 0; i < count; ++i)
      order.push_back(uint32_t(count == 1 ? 0 : last * i / (count - 1)));
    blocks = count * size;
  }
  std::vector<Warp *> ready;
  while (true) {
    while (hasCapacity() && grid.nextBlock < blocks)
      startCluster(grid, order);
    if (grid.running.empty())
      return;
    ready.clear();
    for (auto &block : grid.running)
      for (Warp &warp : block->warps)
        if (!warp.done())
          ready.push_back(&warp);
    bool moved = false;
    if (grid.timing) {
      moved = runInTime(grid, ready);
    } else {
      for (size_t i = ready.size(); i > 1; --i)
        std::swap(ready[i - 1], ready[grid.draw() % i]);
      for (Warp *warp : ready)
        moved |= runWarp(grid, *warp->block, *warp, 16 + uint32_t(grid.draw() & 511));
    }
    endBlocks(grid);
    // Execute a bulk load as late as possible: when no warp can run, or when the warps only poll for its completion.
    if (!moved || grid.polls > 4 * ready.size()) {
      grid.polls = 0;
      if (deliverLoad(grid))
        moved = true;
    }
    if (!moved && !grid.running.empty()) {
      for (Warp *warp : ready)
        if (!warp->done() && breakDivergence(grid, *warp->block, *warp)) {
          moved = true;
          break;
        }
      if (!moved && grid.nextBlock == blocks)
        return reportDeadlock(grid);
      if (!moved && !hasCapacity())
        return reportDeadlock(grid);
    }
    if (grid.steps > launch.stepLimit) {
      grid.report.finished = false;
      Warp *warp = nullptr;
      for (auto &block : grid.running) // `ready` may point to warps of erased blocks
        for (Warp &candidate : block->warps)
          if (!candidate.done())
            warp = &candidate;
      if (!warp)
        continue;
      Exec e{grid, *warp->block, *warp, &warp->fragments.back()};
      e.pc = e.fragment->pc;
      e.find(Kind::StepLimit, uint32_t(std::countr_zero(e.fragment->mask)),
             "still running after " + std::to_string(grid.steps) +
                 " instructions of warps: a loop that does not end, or a step limit too small");
      return;
    }
  }
}

} // namespace tilewright::ptx
