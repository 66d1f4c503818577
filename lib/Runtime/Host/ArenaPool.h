//===- ArenaPool.h - pool of scratch memory for calls ---------------------===//
//
// Each call borrows one block while it runs, so that concurrent calls never share one. Blocks are kept between calls,
// warm in cache; their number never exceeds the maximum number of concurrent calls. Large blocks are taken from and
// returned to the block pool (BlockPool.h). The memory of one graph's intermediates is thus reused for the packs and
// results of the next graph, such as the saved activations of a training step.
//
// Tests: test/Unit/Runtime/Host/BlockPoolTest.cpp
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_ARENAPOOL_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_ARENAPOOL_H

#include "lib/Runtime/Host/Memory.h"

#include <mutex>
#include <vector>

namespace tilewright::runtime {

class ArenaPool {
public:
  static constexpr int64_t large = int64_t(16) << 20; ///< bytes from which blocks are shared with results and packs

  /// The pool that all executables of the process share.
  static ArenaPool &process();

  /// Lends a block of at least `bytes` bytes with undefined contents. Returns false if the allocation fails.
  bool borrow(int64_t bytes, Memory &block);

  /// Returns a borrowed block to the pool.
  void giveBack(Memory &&block);

  /// Frees all idle blocks of this pool.
  void trim();

  /// Returns the bytes of this pool's idle blocks.
  int64_t idleBytes();

private:
  std::mutex mutex;
  std::vector<Memory> idle;
};

} // namespace tilewright::runtime

#endif
