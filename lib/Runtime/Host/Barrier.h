//===- Barrier.h - where the threads of one call meet ---------------------===//
//
// The last one to arrive flips the phase; the others spin for a moment and then sleep, so that more threads than
// cores still make progress. May be used again at once.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_BARRIER_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_BARRIER_H

#include "lib/Runtime/Host/Futex.h"

namespace tilewright::runtime {

class Barrier {
public:
  /// Waits until `threads` threads have come; all must pass the same number. What each wrote before is visible to
  /// all afterwards. With one thread it touches no memory.
  void wait(int threads) {
    if (threads <= 1)
      return;
    uint32_t phase = signal.word.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == uint32_t(threads)) {
      arrived.store(0, std::memory_order_relaxed);
      signal.set(phase + 1);
      return;
    }
    signal.waitWhile(phase);
  }

private:
  alignas(64) std::atomic<uint32_t> arrived{0};
  Signal signal;
};

} // namespace tilewright::runtime

#endif
