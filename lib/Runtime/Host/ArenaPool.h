//===- ArenaPool.h - pool of scratch memory for calls ---------------------===//
//
// Each call allocates one block from the pool and returns the block when the call ends, so that concurrent calls never
// share a block. The pool keeps returned blocks for later calls, because they may still be in the CPU caches. The
// number of blocks never exceeds the maximum number of concurrent calls. Blocks of 16 to 512 MiB are allocated from and
// returned to the block pool (BlockPool.h). Therefore, the packs and results of the next graph, such as the saved
// activations of a training step, can reuse the memory of one graph's intermediates.
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
  static constexpr int64_t large = int64_t(16) << 20; ///< minimum size in bytes of blocks from the block pool

  /// The pool that all executables of the process share.
  static ArenaPool &process();

  /// Allocates a block of at least `bytes` bytes with undefined contents. Returns false if the allocation fails.
  bool borrow(int64_t bytes, Memory &block);

  /// Puts a block that borrow() has allocated back into the pool.
  void giveBack(Memory &&block);

  /// Frees all unused blocks of this pool.
  void trim();

  /// Returns the total size of this pool's unused blocks in bytes.
  int64_t idleBytes();

private:
  std::mutex mutex;
  std::vector<Memory> idle;
};

} // namespace tilewright::runtime

#endif
