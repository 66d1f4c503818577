//===- ReadyPages.h - pages that the system has given before they are needed ---===//
//
// The first write to a page of fresh memory waits until the system, or the host below it, has found and cleared one:
// for the packs of a large model's parameters up to several times as long as packing takes. While torch restores a
// graph, on one core, another can wait for them.
//
// Tests: test/Unit/Host/ReadyPagesTest.cpp, test/Python/test_pack_ahead.py
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_READYPAGES_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_READYPAGES_H

#include "lib/Runtime/Host/Memory.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace tilewright::runtime {

class ReadyPages {
public:
  static ReadyPages &process();

  /// Begins to bring `bytes` more into memory, in a thread of its own, and returns. Less than 4 MiB are left to who
  /// needs them, and so is everything where the process has one CPU. What nobody takes within a minute goes back.
  void bring(int64_t bytes);

  /// Puts pages that are there in the place of the first ones of `block`. How many bytes, or -1 when a part of `block`
  /// is lost.
  int64_t moveTo(Memory &block);

  /// Nobody needs the rest: it goes back.
  void drop();

  /// Bytes that are there and were not taken.
  int64_t waiting();

private:
  void work(uint64_t generation);
  void clear();

  std::mutex mutex;
  std::vector<Memory> pieces;
  std::atomic<int64_t> ready{0};  ///< bytes of them
  int64_t wanted = 0;             ///< bytes still to bring
  uint64_t drops = 0;             ///< how often the rest went back
  uint64_t worker = ~uint64_t(0); ///< the generation of the process whose thread brings them; ~0: none does
};

} // namespace tilewright::runtime

#endif
