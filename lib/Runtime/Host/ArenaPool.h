//===- ArenaPool.h - scratch memory lent to calls -------------------------===//
//
// Each call borrows one block for as long as it runs, so that calls at the same time never share one. Blocks are
// kept between calls, warm in cache; there are never more of them than there were calls at once. Large ones come from
// the pool of blocks and go back there (BlockPool.h): what one graph's intermediates lay in is where packs and results
// of the next lie, the saved activations of a training step for one.
//
// Tests: test/Unit/Host/BlockPoolTest.cpp
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

  /// Lends a block of at least `bytes` bytes, contents undefined. False when the system has not that much.
  bool borrow(int64_t bytes, Memory &block);

  /// Takes a borrowed block back.
  void giveBack(Memory &&block);

  /// Frees every smaller block that is not lent.
  void trim();

  /// Bytes of smaller blocks kept that are not lent.
  int64_t idleBytes();

private:
  std::mutex mutex;
  std::vector<Memory> idle;
};

} // namespace tilewright::runtime

#endif
