//===- PrefaultPages.h - memory pages that are faulted in before they are needed ---===//
//
// The first write to a page of newly mapped memory waits until the operating system, or the hypervisor, has allocated
// and cleared a physical page. For the packs of a large model's parameters, these page faults can take several times as
// long as packing. Another core can therefore fault pages in while torch restores a graph on one core.
//
// Tests: test/Unit/Runtime/Host/PrefaultPagesTest.cpp, test/Python/test_pack_ahead.py
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_PREFAULTPAGES_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_PREFAULTPAGES_H

#include "lib/Runtime/Host/Memory.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace tilewright::runtime {

class PrefaultPages {
public:
  static PrefaultPages &process();

  /// Makes a separate thread fault in `bytes` more bytes, and returns immediately. Does nothing for less than 4 MiB, or
  /// if the default number of threads is 1 (clipThreads()). The total of requested and ready pages is limited to 512
  /// MiB. Pages that are not used within a minute are freed.
  void bring(int64_t bytes);

  /// Replaces the first pages of `block` by pages that are ready. Returns the number of replaced bytes, or -1 if a part
  /// of `block` is no longer mapped.
  int64_t moveTo(Memory &block);

  /// Cancels requests and frees the pages that are ready.
  void drop();

  /// Returns the number of bytes in pages that are ready and not yet used.
  int64_t waiting();

private:
  void work(uint64_t generation);
  void clear();

  std::mutex mutex;
  std::vector<Memory> pieces;
  std::atomic<int64_t> ready{0};  ///< total bytes of `pieces`
  int64_t wanted = 0;             ///< bytes still to fault in
  uint64_t drops = 0;             ///< number of calls of clear()
  uint64_t worker = ~uint64_t(0); ///< generation of the process whose thread is working; ~0: no thread is working
};

} // namespace tilewright::runtime

#endif
