//===- Futex.h - wait on a word and wake the waiting threads --------------===//
//
// This file defines wrappers of the futex operations wait and wake, and the function with which the thread team and its
// barriers wait. A waiting thread first spins, because the next kernel usually starts within microseconds. Then it
// sleeps, so that other threads can use the core.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_FUTEX_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_FUTEX_H

#include <atomic>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace tilewright::runtime {

/// Nanoseconds for which a thread spins before it sleeps. The time is longer than Dynamo takes to check the guards of a
/// small model between two calls, so that a worker does not have to be woken for each call.
inline constexpr int64_t spinNanoseconds = 200'000;

/// Returns the time of a monotonic clock in nanoseconds.
inline int64_t monotonicNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// Hints to the core that this is a spin loop.
inline void spinPause() { __builtin_ia32_pause(); }

/// Sleeps while `word` holds `expected`. May return early.
inline void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

/// Wakes every thread that sleeps on `word`.
inline void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// A word and the number of threads that sleep until the word changes. The waking thread stores the word and then reads
/// `sleepers`; a waiting thread increments `sleepers` and then reads the word. These four operations are sequentially
/// consistent, so that no wake-up is lost.
struct alignas(64) Signal {
  std::atomic<uint32_t> word{0};
  std::atomic<uint32_t> sleepers{0};

  /// Publishes `value`, and all earlier writes, to every waiting thread.
  void set(uint32_t value) {
    word.store(value, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0)
      futexWakeAll(word);
  }

  /// Returns the first value seen that differs from `old`.
  uint32_t waitWhile(uint32_t old) {
    uint32_t value = word.load(std::memory_order_acquire);
    if (value != old)
      return value;
    int64_t deadline = 0;
    for (;;) {
      for (int i = 0; i < 32; ++i) {
        spinPause();
        if ((value = word.load(std::memory_order_acquire)) != old)
          return value;
      }
      int64_t now = monotonicNanoseconds();
      if (deadline == 0)
        deadline = now + spinNanoseconds;
      else if (now >= deadline)
        break;
    }
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    while ((value = word.load(std::memory_order_seq_cst)) == old)
      futexWait(word, old);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
    return value;
  }
};

} // namespace tilewright::runtime

#endif
