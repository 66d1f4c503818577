//===- BlockPool.h - large blocks of memory, kept for the next that needs one --===//
//
// Fresh pages cost more than the work on them: results of a call and packs that replace others are about as large as
// those that were given back before. Where no block of the size is kept, the huge pages of others become one: what
// activations lay in is where gradients lie next, whatever their sizes. So much is kept that what is lent and what is
// kept come to what was lent at once not long ago, and half a GiB at most.
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

  /// At least `bytes` bytes, and little more, contents undefined. False when the system has not that much.
  bool take(int64_t bytes, Memory &block);

  /// Keeps `block`, or frees it.
  void give(Memory &&block);

  /// take() whose block comes back with its last holder. Null when the system has not that much.
  std::shared_ptr<Memory> share(int64_t bytes);

  /// Frees the largest blocks kept, until `bytes` are freed or none is left.
  void trim(int64_t bytes);

  /// Bytes kept that nobody holds.
  int64_t idleBytes();

private:
  void lend(int64_t bytes);
  bool assemble(Memory &block, int64_t done);
  /// With the lock held: moves the largest blocks to `dropped` until at most `bytes` are kept.
  void shrink(int64_t bytes, std::vector<Memory> &dropped);

  std::mutex mutex;
  std::multimap<int64_t, Memory> kept; ///< by size
  int64_t held = 0;                    ///< bytes of them
  // Bytes lent: now; the most since the last ebb; the most between that and the one before; the least since the most.
  // There is an ebb where less than half of the most is lent, and more again.
  int64_t lent = 0, flood = 0, lastFlood = 0, ebb = 0;
};

} // namespace tilewright::runtime

#endif
