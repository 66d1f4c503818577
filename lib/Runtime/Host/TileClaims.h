//===- TileClaims.h - distribution of a call's tiles over threads ---------===//
//
// Every thread has a contiguous share of the tiles of every step that several threads execute. The shares are the same
// in each call with the same grids and number of threads. A thread takes tiles from the front of its share, each time a
// quarter of the remaining tiles, rounded up. A thread that has finished its share steals tiles from the back of other
// threads' shares in the same way. A call therefore does not wait for tiles of threads that are not scheduled or start
// late.
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

  /// Returns the bytes for the shares of `threads` threads in `steps` steps; a multiple of 64.
  static int64_t bytes(int64_t steps, int threads) { return rowBytes(steps) * threads; }

  /// Creates no shares: one thread executes everything.
  TileClaims() = default;

  /// Creates shares in `memory`, which has bytes() bytes, 64-byte aligned. share() must be called for a step before
  /// tiles of the step are taken.
  TileClaims(void *memory, int64_t steps, int threads)
      : memory(static_cast<uint8_t *>(memory)), row(rowBytes(steps)), threads(threads) {}

  /// Divides the `grid` tiles of `step` among the threads. `grid` is at most maxGrid. Must be called before the threads
  /// start.
  void share(int64_t step, int64_t grid) {
    int64_t share = grid / threads, rest = grid % threads, begin = 0;
    for (int thread = 0; thread < threads; ++thread) {
      int64_t end = begin + share + (thread < rest);
      new (word(step, thread)) std::atomic<uint64_t>(uint64_t(begin) << 32 | uint64_t(end));
      begin = end;
    }
  }

  /// Takes tiles of the thread's own share that have not been taken. Returns an empty range if there are none.
  Tiles own(int64_t step, int thread) { return take(step, thread, true); }

  /// Takes tiles from the back of the share of thread `victim`.
  Tiles steal(int64_t step, int victim) { return take(step, victim, false); }

private:
  static int64_t rowBytes(int64_t steps) { return (steps * int64_t(sizeof(uint64_t)) + 63) / 64 * 64; }
  std::atomic<uint64_t> *word(int64_t step, int thread) {
    return reinterpret_cast<std::atomic<uint64_t> *>(memory + row * thread) + step;
  }

  // Relaxed order suffices, because earlier barriers made the tiles' inputs visible (Walk::finish).
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
