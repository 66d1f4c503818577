//===- TileClaims.h - who does which tiles of a call ----------------------===//
//
// Every thread has a share of every step, contiguous and the same in each call. It takes its share from the front, a
// quarter of what is left at a time; threads that have nothing else to do take from the back of the others' shares.
// So a thread that the system keeps from running, or that started late, does not hold up the call.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_TILECLAIMS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_TILECLAIMS_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

namespace tilewright::runtime {

/// Tiles [begin, end).
struct Tiles {
  int64_t begin, end;
  bool empty() const { return begin >= end; }
};

class TileClaims {
public:
  static constexpr int64_t maxGrid = UINT32_MAX;

  /// Bytes for the shares of `threads` threads in `steps` steps; a multiple of 64.
  static int64_t bytes(int64_t steps, int threads) { return rowBytes(steps) * threads; }

  /// No shares: one thread does everything.
  TileClaims() = default;

  /// Shares in `memory`, of bytes() bytes and 64-byte aligned, undefined until share() has been called for all steps.
  TileClaims(void *memory, int64_t steps, int threads)
      : memory(static_cast<uint8_t *>(memory)), row(rowBytes(steps)), threads(threads) {}

  /// Divides the `grid` tiles of `step`, at most maxGrid. Before the threads start.
  void share(int64_t step, int64_t grid) {
    int64_t share = grid / threads, rest = grid % threads, begin = 0;
    for (int thread = 0; thread < threads; ++thread) {
      int64_t end = begin + share + (thread < rest);
      new (word(step, thread)) std::atomic<uint64_t>(uint64_t(begin) << 32 | uint64_t(end));
      begin = end;
    }
  }

  /// Tiles of the thread's own share that nobody has taken; empty when there are none.
  Tiles own(int64_t step, int thread) { return take(step, thread, true); }

  /// Tiles of the share of `victim`.
  Tiles steal(int64_t step, int victim) { return take(step, victim, false); }

private:
  static int64_t rowBytes(int64_t steps) { return (steps * int64_t(sizeof(uint64_t)) + 63) / 64 * 64; }
  std::atomic<uint64_t> *word(int64_t step, int thread) {
    return reinterpret_cast<std::atomic<uint64_t> *>(memory + row * thread) + step;
  }

  // Only which tiles are whose is settled here: what they read was made visible before (Walk::finish).
  Tiles take(int64_t step, int thread, bool front) {
    std::atomic<uint64_t> &left = *word(step, thread);
    uint64_t seen = left.load(std::memory_order_relaxed);
    for (;;) {
      int64_t begin = int64_t(seen >> 32), end = int64_t(seen & UINT32_MAX);
      if (begin >= end)
        return {0, 0};
      int64_t count = (end - begin + 3) / 4;
      Tiles taken = front ? Tiles{begin, begin + count} : Tiles{end - count, end};
      (front ? begin : end) = front ? taken.end : taken.begin;
      if (left.compare_exchange_weak(seen, uint64_t(begin) << 32 | uint64_t(end), std::memory_order_relaxed))
        return taken;
    }
  }

  uint8_t *memory = nullptr;
  int64_t row = 0;
  int threads = 0;
};

} // namespace tilewright::runtime

#endif
