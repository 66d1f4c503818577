//===- PackAhead.cpp - pack parameters before the first call ---------------===//
//
// Between the return of the compiler and the first call, torch builds guards, which takes some tenths of a second on
// one core. Packing reads and writes every parameter of a large model and takes about as long. Packing therefore
// starts immediately on one separate thread. It stops at the first call, which packs the remaining parameters on all
// its threads. A call waits for at most one group, usually one weight. The call validates these packs in the same way
// as other packs, by address, version and fingerprint.
//
// Tests: test/Unit/Runtime/Host/PackAheadTest.cpp, test/Python/test_pack_ahead.py
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/ForkGeneration.h"
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/ExecutorLocks.h"
#include "lib/Runtime/Host/FloatingPointMode.h"

#include <condition_variable>
#include <system_error>
#include <thread>

namespace tilewright::runtime {

/// Minimum number of bytes to pack for which a thread is started.
static constexpr int64_t leastBytes = int64_t(4) << 20;

/// The state shared with the packing thread, which may end shortly after the executable is destroyed.
struct Executable::Ahead {
  /// Generation of the process that started the thread; a forked child does not have the thread.
  const uint64_t generation = forkGeneration();
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable ended;
  bool running = true;

  void end() {
    std::lock_guard<std::mutex> lock(mutex);
    running = false;
    ended.notify_all();
  }
};

/// Packs group `i` unless it is packed already. Returns false if packing should stop.
bool Executable::packGroupAhead(size_t i, const void *const *inputs, const InputIdentity *identities) {
  const PackGroup &group = groups[i];
  if (isReleased(group, inputs, identities))
    return true; // the input was released, so its packs exist already
  auto set = std::make_shared<PackedSet>();
  set->stamps = stampInputs(group, inputs, identities);
  if (PackCache::process().find(group.recipe, set->stamps))
    return true; // run() uses the set that another executable has packed
  forgetOutdated(group, set->stamps);
  RunError error;
  set->memory = pack(group, inputs, /*threads=*/1, error);
  if (!set->memory)
    return false; // run() packs the group again and reports the error
  PackLock packing(*this);
  StateLock lock(*this);
  if (snapshot->sets[i])
    return true;
  auto fresh = std::make_shared<PackSnapshot>(*snapshot);
  group.point(fresh->pointers, set->memory.get());
  fresh->sets[i] = set;
  histories[i].note(set->stamps);
  PackCache::process().publish(group.recipe, set);
  snapshot = std::move(fresh);
  return true;
}

void Executable::packAhead(std::vector<const void *> inputs, std::vector<InputIdentity> identities) {
  int64_t bytes = 0;
  for (const PackGroup &group : groups)
    bytes += group.bytes;
  if (bytes < leastBytes || releaseInput || ahead.load(std::memory_order_acquire) || clipThreads(0) == 1)
    return;
  auto state = std::make_shared<Ahead>();
  auto work = [this, state, inputs = std::move(inputs), identities = std::move(identities)] {
    NoFloatingPointTraps quiet;
    for (size_t i = 0; i < groups.size() && !state->stop.load(std::memory_order_relaxed); ++i)
      if (!packGroupAhead(i, inputs.data(), identities.empty() ? nullptr : identities.data()))
        break;
    state->end();
  };
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error &) {
    return; // no thread can be created, so run() packs all parameters
  }
  aheadState = std::move(state);
  ahead.store(true, std::memory_order_release);
}

void Executable::endPackAhead() {
  if (!ahead.load(std::memory_order_acquire))
    return;
  std::shared_ptr<Ahead> state = aheadState;
  state->stop.store(true, std::memory_order_relaxed);
  if (state->generation == forkGeneration()) {
    std::unique_lock<std::mutex> lock(state->mutex);
    state->ended.wait(lock, [&] { return !state->running; });
  }
  ahead.store(false, std::memory_order_release);
}

} // namespace tilewright::runtime
