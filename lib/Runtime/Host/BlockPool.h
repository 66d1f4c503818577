//===- BlockPool.h - pool of large blocks of memory ----------------------------===//
//
// The page faults of newly mapped memory often take longer than the computations on it. The results of a call, and
// packs that replace other packs, have sizes similar to those of blocks that were returned to the pool before.
// Therefore, the pool caches returned blocks. If no cached block has the requested size or up to an eighth more, the
// pool assembles a block from the huge pages of other cached blocks. In this way, gradients can use the memory of
// activations of other sizes. The pool frees cached blocks until the cached bytes are at most 512 MiB, and the
// allocated and cached bytes together are at most the recent peak of allocated bytes.
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

  /// Allocates at least `bytes` bytes, rounded up, with undefined contents. Returns false if the allocation fails.
  bool take(int64_t bytes, Memory &block);

  /// Returns `block` to the pool, which caches or frees it.
  void give(Memory &&block);

  /// Like take(), but the block is returned to the pool when the last reference is released. Returns null if the
  /// allocation fails.
  std::shared_ptr<Memory> share(int64_t bytes);

  /// Frees the largest cached blocks until at least `bytes` bytes are freed or no cached block is left.
  void trim(int64_t bytes);

  /// Returns the total size of the cached blocks in bytes.
  int64_t idleBytes();

private:
  void lend(int64_t bytes);
  bool assemble(Memory &block, int64_t done);
  /// Moves the largest blocks to `dropped` until at most `bytes` are cached. The lock must be held.
  void shrink(int64_t bytes, std::vector<Memory> &dropped);

  std::mutex mutex;
  std::multimap<int64_t, Memory> kept; ///< cached blocks, by size
  int64_t held = 0;                    ///< total bytes of `kept`
  // Statistics of the allocated bytes: the current number, the maximum since the last trough, the maximum between the
  // last two troughs, and the minimum since the last maximum. A trough (a local minimum) occurs when the allocated
  // bytes fall below half of the maximum and then rise again.
  int64_t lent = 0, peak = 0, lastPeak = 0, trough = 0;
};

} // namespace tilewright::runtime

#endif
