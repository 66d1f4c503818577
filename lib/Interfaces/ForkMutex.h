//===- ForkMutex.h - a lock that a forked child can take --------------------===//
//
// fork() copies the memory of a process but only one of its threads. A lock that another thread held would stay locked
// in the child forever, and the data that it guards may be inconsistent. This lock records the process that took it: if
// the child takes a lock that was held at the fork, lock() returns true, and the child must recreate the guarded data.
//
//   if (mutex.lock())                // the holder exists only in the parent
//     new (&guarded) Guarded;        // the old object may be inconsistent: it is neither read nor destroyed
//   ...
//   mutex.unlock();
//
// ForkSafe<T> recreates a value of type T in this case.
//
// Test: test/Unit/Runtime/Host/ForkTest.cpp
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_INTERFACES_FORKMUTEX_H
#define TILEWRIGHT_LIB_INTERFACES_FORKMUTEX_H

#include "lib/Interfaces/ForkGeneration.h"

#include <atomic>
#include <linux/futex.h>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace tilewright::runtime {

class ForkMutex {
public:
  ForkMutex() = default;
  ForkMutex(const ForkMutex &) = delete;
  ForkMutex &operator=(const ForkMutex &) = delete;

  /// Waits until the lock is free in this process, and takes it. Returns true if it was held when this process was
  /// forked. `generation` is forkGeneration(), or a cached copy of it.
  [[nodiscard]] bool lock(uint64_t generation = forkGeneration()) {
    uint64_t mine = held;
    for (uint64_t seen = state.load(std::memory_order_relaxed);;) {
      const bool forked = seen >> flagBits != (generation & generationMask);
      if (forked || (seen & flagMask) == 0) {
        if (state.compare_exchange_weak(seen, (generation << flagBits) | mine, std::memory_order_acquire))
          return forked && (seen & flagMask) != 0;
        continue;
      }
      if ((seen & flagMask) == held &&
          !state.compare_exchange_weak(seen, (seen & ~flagMask) | awaited, std::memory_order_relaxed))
        continue;
      mine = awaited; // other threads may wait as well: each unlock() wakes one
      sleep(uint32_t((generation << flagBits) | awaited));
      seen = state.load(std::memory_order_relaxed);
    }
  }

  void unlock() {
    if ((state.fetch_and(~flagMask, std::memory_order_release) & flagMask) == awaited)
      syscall(SYS_futex, word(), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

private:
  static constexpr int flagBits = 2;
  static constexpr uint64_t flagMask = 3, held = 1, awaited = 2, generationMask = ~uint64_t(0) >> flagBits;

  /// Returns the address of the low half of `state`, which has the flags.
  void *word() { return &state; }
  void sleep(uint32_t expected) { syscall(SYS_futex, word(), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0); }

  std::atomic<uint64_t> state{0}; ///< generation of the process that took the lock last, and flags
};

/// A value that one thread at a time can access. In a forked child it is reset if a thread of the parent was using it.
template <typename T> class ForkSafe {
public:
  class Access {
  public:
    explicit Access(ForkSafe &owner) : owner(owner) {
      if (owner.mutex.lock())
        new (&owner.value) T; // the old value is not destroyed, so memory that it owns is leaked
    }
    ~Access() { owner.mutex.unlock(); }
    Access(const Access &) = delete;
    Access &operator=(const Access &) = delete;
    T *operator->() { return &owner.value; }
    T &operator*() { return owner.value; }

  private:
    ForkSafe &owner;
  };

  /// Returns exclusive access to the value, until the result is destroyed.
  Access lock() { return Access(*this); }

private:
  ForkMutex mutex;
  T value{};
};

} // namespace tilewright::runtime

#endif
