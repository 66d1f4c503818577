//===- Executor.cpp - runs a plan on the host -----------------------------===//
#include "lib/Runtime/Host/Executor.h"
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/ArenaPool.h"
#include "lib/Runtime/Host/BlockPool.h"
#include "lib/Runtime/Host/CallMemory.h"
#include "lib/Runtime/Host/ExecutorLocks.h"
#include "lib/Runtime/Host/FloatingPointMode.h"
#include "lib/Runtime/Host/PrefaultPages.h"
#include "lib/Runtime/Host/ProcessWide.h"
#include "lib/Runtime/Host/StepRanges.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tilewright::runtime {

/// The list of all executables of the process.
class Executable::Registry {
public:
  static Registry &process() { return processWide<Registry, &Registry::mutex>(); }

  void add(Executable *executable) {
    std::lock_guard<std::mutex> lock(mutex);
    all.push_back(executable);
  }

  void remove(Executable *executable) {
    std::lock_guard<std::mutex> lock(mutex);
    std::erase(all, executable);
  }

  /// Makes all executables release `set`, so that later calls do not use it.
  void forget(const PackedSet &set) {
    std::lock_guard<std::mutex> lock(mutex);
    for (Executable *executable : all)
      executable->forget(set);
  }

private:
  std::mutex mutex; // locked before any executable's mutex
  std::vector<Executable *> all;
};

Executable::Executable() { Registry::process().add(this); }
Executable::~Executable() {
  endPackAhead();
  Registry::process().remove(this);
}

/// Returns true if every call of `plan` is brief, see Executable::isBrief().
static bool isBriefPlan(const plan::Plan &plan) {
  constexpr int64_t mostBytes = 4096; // elementwise kernels access this many bytes in less than a microsecond
  if (!plan.once.empty() || plan.steps.size() != 1 || plan.steps[0].kind != plan::Step::Kind::Launch)
    return false;
  std::string error;
  auto valueOf = [&](const plan::Expr &expr) {
    return expr.isSymbolFree() ? plan::evaluate(expr, nullptr, error) : INT64_MAX;
  };
  int64_t bytes = valueOf(plan.steps[0].scratchBytes);
  for (const plan::Buffer &buffer : plan.buffers)
    if (bytes <= mostBytes)
      bytes += std::min(valueOf(buffer.bytes), mostBytes + 1);
  return bytes <= mostBytes && valueOf(plan.steps[0].grid) <= 1 && error.empty();
}

std::unique_ptr<Executable> Executable::create(plan::Plan plan, std::vector<Kernel> kernels,
                                               std::vector<HostFunction> hostFunctions, std::string &error,
                                               std::shared_ptr<void> keepAlive) {
  error = plan::verify(plan);
  if (!error.empty())
    return nullptr;
  if (kernels.size() != plan.kernels.size() || hostFunctions.size() != plan.hostFunctions.size()) {
    error = "the plan has " + std::to_string(plan.kernels.size()) + " kernels and " +
            std::to_string(plan.hostFunctions.size()) + " host functions, " + std::to_string(kernels.size()) + " and " +
            std::to_string(hostFunctions.size()) + " were passed";
    return nullptr;
  }
  for (size_t i = 0; i < kernels.size(); ++i)
    if (!kernels[i].function) {
      error = "kernel '" + plan.kernels[i] + "' has no machine code";
      return nullptr;
    }
  for (size_t i = 0; i < hostFunctions.size(); ++i)
    if (!hostFunctions[i].call) {
      error = "host function '" + plan.hostFunctions[i] + "' is not known; register it before loading the plan";
      return nullptr;
    }

  std::unique_ptr<Executable> executable(new Executable);
  Executable &self = *executable;
  self.program = std::move(plan);
  self.kernels = std::move(kernels);
  self.hostFunctions = std::move(hostFunctions);
  self.keepAlive = std::move(keepAlive);
  std::vector<uint8_t> &bytes = self.program.constants;
  if (!bytes.empty()) {
    if (!Memory::allocate(int64_t(bytes.size()), self.constants)) {
      error = "out of memory: the plan's constants need " + std::to_string(bytes.size()) + " bytes";
      return nullptr;
    }
    memcpy(self.constants.data(), bytes.data(), bytes.size());
    std::vector<uint8_t>().swap(bytes); // free the plan's copy of the constants
  }
  std::vector<std::string> identities;
  for (const Kernel &kernel : self.kernels)
    identities.push_back(kernel.identity);
  if (!makePackGroups(self.program, identities, self.groups, error))
    return nullptr;
  self.packedOnly = packedOnlyInputs(self.program, self.groups);
  for (const plan::Buffer &buffer : self.program.buffers)
    self.packedSlots += buffer.kind == plan::Buffer::Kind::Packed;
  self.groupOf.resize(self.packedSlots);
  self.packInputs.resize(size_t(self.program.numInputs));
  for (size_t i = 0; i < self.groups.size(); ++i) {
    for (int32_t slot : self.groups[i].slots)
      self.groupOf[slot] = i;
    for (int32_t input : self.groups[i].inputs)
      self.packInputs[input] = true;
  }
  self.histories.resize(self.groups.size());
  self.snapshot = self.emptySnapshot();
  self.brief = isBriefPlan(self.program);
  return executable;
}

Executable::SnapshotPointer Executable::emptySnapshot() const {
  auto empty = std::make_shared<PackSnapshot>();
  empty->sets.resize(groups.size());
  empty->pointers.resize(packedSlots);
  return empty;
}

bool Executable::checkSymbols(const int64_t *symbols, RunError &error) const {
  if (!symbols && !program.symbols.empty()) {
    error = "the plan has " + std::to_string(program.symbols.size()) + " symbols, but no values were given";
    return false;
  }
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    const plan::Symbol &symbol = program.symbols[i];
    if (symbols[i] >= symbol.min && symbols[i] <= symbol.max)
      continue;
    error = "symbol s" + std::to_string(i) + (symbol.name.empty() ? "" : " (" + symbol.name + ")") + " is " +
            std::to_string(symbols[i]) + ", but this plan was compiled for " + std::to_string(symbol.min) + " to " +
            (symbol.max == INT64_MAX ? std::string("any size") : std::to_string(symbol.max)) +
            "; call it within that range or compile for a larger one";
    return false;
  }
  return true;
}

/// Looks up the cached frame for `symbols`, and returns false if there is none. In both cases, sets `packs` to the
/// current snapshot of the packs.
bool Executable::lookUp(const int64_t *symbols, FramePointer &frame, SnapshotPointer &packs) {
  StateLock lock(*this);
  packs = snapshot;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!std::equal(frames[i]->symbols.begin(), frames[i]->symbols.end(), symbols))
      continue;
    if (i != 0)
      std::rotate(frames.begin(), frames.begin() + i, frames.begin() + i + 1);
    frame = frames.front();
    return true;
  }
  return false;
}

bool Executable::resolve(const int64_t *symbols, FramePointer &frame, RunError &error) {
  auto fresh = std::make_shared<Frame>();
  if (!resolveFrame(program, symbols, *fresh, error))
    return false;
  fresh->stepRanges = cutIntoStepRanges(*fresh, packInputs, program.numOutputs, int32_t(packedSlots));
  frame = fresh;
  StateLock lock(*this);
  if (frames.size() == maxFrames)
    frames.pop_back();
  frames.insert(frames.begin(), std::move(fresh));
  return true;
}

int64_t Executable::arenaBytes(const int64_t *symbols, RunError &error) {
  FramePointer frame;
  SnapshotPointer packs;
  if (!checkSymbols(symbols, error) || (!lookUp(symbols, frame, packs) && !resolve(symbols, frame, error)))
    return -1;
  return frame->arenaBytes;
}

int64_t Executable::packedBytes() {
  StateLock lock(*this);
  int64_t bytes = 0;
  for (const auto &set : snapshot->sets)
    bytes += set ? set->memory->size() : 0;
  return bytes;
}

void Executable::profile(bool on) { busy.reset(on ? new std::atomic<int64_t>[program.steps.size()]() : nullptr); }

std::vector<StepTime> Executable::times(const int64_t *symbols, std::string &error) {
  std::vector<StepTime> times;
  if (!busy)
    return times;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const plan::Step &step = program.steps[i];
    times.push_back({&step, busy[i].load(std::memory_order_relaxed), plan::workOf(program, step, symbols, error)});
  }
  return times;
}

void Executable::repack() { epoch.fetch_add(1, std::memory_order_relaxed); }

bool Executable::isCurrent(const PackSnapshot &packs, const void *const *inputs,
                           const InputIdentity *identities) const {
  if (groups.empty())
    return true;
  if (packs.epoch != epoch.load(std::memory_order_relaxed))
    return false;
  for (size_t i = 0; i < groups.size(); ++i)
    if (!runtime::isCurrent(groups[i], packs.sets[i].get(), inputs, identities))
      return false;
  return true;
}

/// Allocates memory, and runs the group's steps, which write their packs to it. Returns the memory, or null with a
/// reason in `error`.
std::shared_ptr<Memory> Executable::pack(const PackGroup &group, const void *const *inputs, int threads,
                                         RunError &error) {
  std::shared_ptr<Memory> memory = BlockPool::process().share(group.bytes);
  if (!memory) {
    error = {RunError::Kind::OutOfMemory,
             "out of memory: packed parameters need " + std::to_string(group.bytes) + " bytes"};
    return nullptr;
  }
  std::vector<void *> pointers(packedSlots, nullptr);
  group.point(pointers, memory.get());
  if (!runFrame(group.frame, inputs, nullptr, pointers.data(), threads, error))
    return nullptr;
  packings.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

/// Calls `releaseInput` for the inputs whose last consumer is group `last`. From then on, the stamps identify a
/// released input by a number.
void Executable::releasePacked(size_t last, const void *const *inputs, PackSnapshot &packs) {
  static std::atomic<uint64_t> numbers{0};
  for (int32_t input : groups[last].inputs) {
    if (!packedOnly[input] || !inputs[input])
      continue;
    uint64_t number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
    std::vector<std::pair<size_t, std::shared_ptr<const PackedSet>>> marked;
    bool isLast = true;
    for (size_t i = 0; i < groups.size() && isLast; ++i) {
      auto found = std::find(groups[i].inputs.begin(), groups[i].inputs.end(), input);
      if (found == groups[i].inputs.end())
        continue;
      isLast = i <= last;
      if (!isLast || !packs.sets[i])
        continue;
      auto copy = std::make_shared<PackedSet>(*packs.sets[i]);
      copy->stamps[found - groups[i].inputs.begin()] = {nullptr, number, 0};
      marked.push_back({i, std::move(copy)});
    }
    std::vector<std::shared_ptr<const PackedSet>> held;
    for (auto &[i, set] : marked)
      held.push_back(set);
    if (!isLast || !releaseInput(input, inputs[input], number, std::move(held)))
      continue;
    for (auto &[i, set] : marked) {
      packs.sets[i] = set;
      PackCache::process().publish(groups[i].recipe, set);
    }
  }
}

/// Packs the groups whose inputs have changed and publishes a new snapshot. If there is no `releaseInput`, groups whose
/// inputs change between calls (PackHistory) have no set in the snapshot, because each call packs them. Running calls
/// continue to use the old snapshot.
bool Executable::refreshPacks(const void *const *inputs, const InputIdentity *identities, int threads,
                              SnapshotPointer &packs, RunError &error) {
  PackLock packing(*this);
  {
    StateLock lock(*this);
    packs = snapshot;
  }
  auto fresh = std::make_shared<PackSnapshot>(*packs);
  fresh->epoch = epoch.load(std::memory_order_relaxed);
  bool force = fresh->epoch != packs->epoch;
  bool ok = true;
  for (size_t i = 0; i < groups.size() && ok; ++i) {
    const PackGroup &group = groups[i];
    bool gone = isReleased(group, inputs, identities);
    if (runtime::isCurrent(group, packs->sets[i].get(), inputs, identities) && (!force || gone))
      continue;
    std::vector<InputStamp> stamps = stampInputs(group, inputs, identities);
    histories[i].note(stamps);
    forgetOutdated(group, stamps);
    if (histories[i].changing && !gone && !releaseInput) {
      fresh->sets[i] = nullptr;
      group.point(fresh->pointers, nullptr);
      continue;
    }
    std::shared_ptr<const PackedSet> found = PackCache::process().find(group.recipe, stamps);
    if (!found && gone) {
      auto input = std::find_if(group.inputs.begin(), group.inputs.end(), [&](int32_t n) { return !inputs[n]; });
      error = {RunError::Kind::ReleasedParameter,
               "its memory was released, and there is no pack of it that this graph could use"};
      error.input = size_t(input == group.inputs.end() ? group.inputs.front() : *input);
      ok = false;
    } else if (!gone) {
      // Reuse the memory of `found` only if the packed bytes are equal: a new tensor may have the address and the
      // fingerprint of an older one.
      auto set = std::make_shared<PackedSet>();
      set->stamps = std::move(stamps);
      set->memory = pack(group, inputs, threads, error);
      ok = set->memory != nullptr;
      if (ok && !(found && found->memory->size() == set->memory->size() &&
                  memcmp(found->memory->data(), set->memory->data(), size_t(group.bytes)) == 0)) {
        found = std::move(set);
        PackCache::process().publish(group.recipe, found);
      }
    }
    if (!ok)
      break;
    group.point(fresh->pointers, found->memory.get());
    fresh->sets[i] = std::move(found);
    if (releaseInput)
      releasePacked(i, inputs, *fresh);
  }
  PrefaultPages::process().drop();
  fresh->changing.clear();
  for (size_t i = 0; i < groups.size(); ++i)
    if (histories[i].changing && !fresh->sets[i])
      fresh->changing.push_back(i);
  if (!ok)
    // This group is not packed, so keep the other packs, whose inputs may have been released.
    fresh->epoch = packs->epoch;
  packs = fresh;
  StateLock lock(*this);
  snapshot = std::move(fresh);
  return ok;
}

static bool checkPointers(const std::vector<int32_t> &needed, const void *const *pointers, const char *what,
                          RunError &error) {
  for (int32_t number : needed)
    if (!pointers[number]) {
      error = std::string(what) + " " + std::to_string(number) + " is a null pointer, but its tensor is not empty";
      return false;
    }
  return true;
}

/// Makes the next call pack the groups of `set` again. Running calls continue to use their snapshots.
void Executable::forget(const PackedSet &set) {
  StateLock lock(*this);
  if (!snapshot)
    return;
  auto holds = [&](const auto &held) { return held.get() == &set; };
  if (std::none_of(snapshot->sets.begin(), snapshot->sets.end(), holds))
    return;
  auto fresh = std::make_shared<PackSnapshot>(*snapshot);
  for (size_t i = 0; i < groups.size(); ++i)
    if (holds(fresh->sets[i])) {
      fresh->sets[i] = nullptr;
      groups[i].point(fresh->pointers, nullptr);
    }
  snapshot = std::move(fresh);
}

/// Makes all executables release the set that was packed from the inputs of `group` before they changed. Executables of
/// the model for other sizes or modes may never be called again, and would keep the set.
void Executable::forgetOutdated(const PackGroup &group, const std::vector<InputStamp> &stamps) {
  if (auto old = PackCache::process().outdated(group.recipe, stamps))
    Registry::process().forget(*old);
}

/// Allocates and releases memory between the step ranges of a call: memory of the caller's tensors, and memory of packs
/// that only this call uses.
class Executable::Exchange {
public:
  /// `memory` may be null.
  Exchange(Executable &self, const Frame &frame, const PackSnapshot &packs, const void *const *inputs,
           void *const *outputs, int threads, CallersMemory *memory)
      : packed(packs.pointers), self(self), frame(frame), inputs(inputs), outputs(outputs), threads(threads),
        memory(memory), ownPacks(self.groups.size()), buffersLeft(self.groups.size()) {
    for (const Frame::StepRange &range : frame.stepRanges)
      for (int32_t slot : range.unpacked)
        ++buffersLeft[self.groupOf[slot]];
  }

  bool before(const Frame::StepRange &range, RunError &error) {
    std::vector<int32_t> needed;
    std::set_intersection(range.outputs.begin(), range.outputs.end(), frame.neededOutputs.begin(),
                          frame.neededOutputs.end(), std::back_inserter(needed));
    if (memory && (!memory->take(range.outputs, error) ||
                   !checkPointers(needed, const_cast<const void *const *>(outputs), "output", error)))
      return false;
    for (int32_t slot : range.packed) {
      if (packed[slot])
        continue;
      size_t i = self.groupOf[slot];
      if (!(ownPacks[i] = self.pack(self.groups[i], inputs, threads, error)))
        return false;
      self.groups[i].point(packed, ownPacks[i].get());
    }
    return true;
  }

  void after(const Frame::StepRange &range) {
    for (int32_t slot : range.unpacked)
      if (size_t i = self.groupOf[slot]; --buffersLeft[i] == 0)
        ownPacks[i] = nullptr;
    if (memory)
      memory->release(range.inputs);
  }

  std::vector<void *> packed; ///< pointers of packed buffers; null: this call packs them before their first use

private:
  Executable &self;
  const Frame &frame;
  const void *const *inputs;
  void *const *outputs;
  int threads;
  CallersMemory *memory;
  std::vector<std::shared_ptr<Memory>> ownPacks; ///< for each group: the memory that this call has packed
  std::vector<int32_t> buffersLeft;              ///< for each group: the number of packed buffers that later steps read
};

/// Allocates the call's scratch memory and executes `frame`. If `exchange` is not null, calls its before() and after()
/// for each step range.
bool Executable::runFrame(const Frame &frame, const void *const *inputs, void *const *outputs, void *const *packed,
                          int threads, RunError &error, std::atomic<int64_t> *times, Exchange *exchange) {
  threads = CallMemory::usefulThreads(frame, frame.parallelism == 1 ? 1 : clipThreads(threads));
  CallMemory layout(frame, threads);
  Memory block;
  if (layout.bytes() < 0 || !ArenaPool::process().borrow(layout.bytes(), block)) {
    error = layout.shortage();
    return false;
  }
  CallContext call{program,
                   kernels.data(),
                   hostFunctions.data(),
                   inputs,
                   outputs,
                   packed,
                   constants.data(),
                   threads == 1 ? nullptr : &ThreadTeam::process(),
                   times,
                   StepObserver::ofThread()};
  auto walkSteps = [&](size_t begin, size_t end) { return layout.walk(block.data(), begin, end, call, error); };
  bool ok = true;
  if (!exchange)
    ok = walkSteps(0, frame.steps.size());
  for (size_t i = 0; exchange && ok && i < frame.stepRanges.size(); ++i) {
    const Frame::StepRange &range = frame.stepRanges[i];
    ok = exchange->before(range, error) && walkSteps(range.begin, range.end);
    if (ok)
      exchange->after(range);
  }
  ArenaPool::process().giveBack(std::move(block));
  return ok;
}

bool Executable::run(const void *const *inputs, void *const *outputs, const int64_t *symbols, int threads,
                     RunError &error, const InputIdentity *identities, CallersMemory *memory) {
  NoFloatingPointTraps quiet;
  error = {};
  if (!checkSymbols(symbols, error))
    return false;
  if ((!inputs && program.numInputs != 0) || (!outputs && program.numOutputs != 0)) {
    error = "the plan has " + std::to_string(program.numInputs) + " inputs and " + std::to_string(program.numOutputs) +
            " outputs, but no list of pointers was given";
    return false;
  }
  FramePointer frame;
  SnapshotPointer packs;
  if (!lookUp(symbols, frame, packs) && !resolve(symbols, frame, error))
    return false;
  if (!checkPointers(frame->neededInputs, inputs, "input", error) ||
      (!memory && !checkPointers(frame->neededOutputs, const_cast<const void *const *>(outputs), "output", error)))
    return false;
  if (ahead.load(std::memory_order_acquire)) {
    endPackAhead();
    lookUp(symbols, frame, packs);
  }
  if (!isCurrent(*packs, inputs, identities) && !refreshPacks(inputs, identities, threads, packs, error))
    return false;
  if (!memory && packs->changing.empty())
    return runFrame(*frame, inputs, outputs, packs->pointers.data(), threads, error, busy.get());
  Exchange exchange(*this, *frame, *packs, inputs, outputs, threads, memory);
  return runFrame(*frame, inputs, outputs, exchange.packed.data(), threads, error, busy.get(), &exchange);
}

} // namespace tilewright::runtime
