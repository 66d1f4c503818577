//===- BlockPool.h - pool of large blocks of memory ----------------------------===//
//
// Fresh pages cost more than the work on them. The results of a call, and packs that replace others, are about as
// large as blocks that were returned before, so the pool caches such blocks. If no cached block has the requested size,
// a new block is assembled from the huge pages of others: gradients then reuse the memory of activations, whatever
// their sizes. The pool frees cached blocks until the cached bytes are at most 512 MiB, and the allocated and cached
// bytes together are at most the recent peak of allocated bytes.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_BLOCKPOOL_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_BLOCKPOOL_H

#include "lib/Runtime/Host/Memory.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright::runtime {

class BlockPool {
public:
  static constexpr int64_t smallest = 1 << 17, most = int64_t(512) << 20;

  static BlockPool &process();

  /// Allocates at least `bytes` bytes, and little more, with undefined contents. Returns false if the allocation fails.
  bool take(int64_t bytes, Memory &block);

  /// Returns `block` to the pool, which caches or frees it.
  void give(Memory &&block);

  /// Like take(), but the block returns to the pool with its last owner. Returns null if the allocation fails.
  std::shared_ptr<Memory> share(int64_t bytes);

  /// Frees the largest cached blocks until `bytes` are freed or none is left.
  void trim(int64_t bytes);

  /// Returns the bytes of the cached blocks.
  int64_t idleBytes();

private:
  void lend(int64_t bytes);
  bool assemble(Memory &block, int64_t done);
  /// Moves the largest blocks to `dropped` until at most `bytes` are cached. The lock must be held.
  void shrink(int64_t bytes, std::vector<Memory> &dropped);

  std::mutex mutex;
  std::multimap<int64_t, Memory> kept; ///< by size
  int64_t held = 0;                    ///< total bytes of `kept`
  // Allocated bytes: now; the maximum since the last trough; the maximum between the last two troughs; the minimum
  // since the maximum. A trough (a local minimum) occurs when the allocated bytes fall below half of the maximum and
  // then rise again.
  int64_t lent = 0, peak = 0, lastPeak = 0, trough = 0;
};

} // namespace tilewright::runtime

#endif
