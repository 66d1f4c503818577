//===- ArenaPool.cpp - pool of scratch memory for calls -------------------===//
#include "lib/Runtime/Host/ArenaPool.h"
#include "lib/Runtime/Host/BlockPool.h"
#include "lib/Runtime/Host/ProcessWide.h"

namespace tilewright::runtime {

ArenaPool &ArenaPool::process() { return processWide<ArenaPool, &ArenaPool::mutex>(); }

/// Returns true if blocks of this rounded size are allocated from the block pool: they are large, but not larger than
/// the total size of the blocks that the block pool may cache.
static bool isShared(int64_t bytes) { return bytes >= ArenaPool::large && bytes <= BlockPool::most; }

bool ArenaPool::borrow(int64_t bytes, Memory &block) {
  bytes = Memory::sizeFor(bytes);
  if (isShared(bytes))
    return BlockPool::process().take(bytes, block);
  Memory tooSmall; // freed after the lock is released, before the allocation below
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idle.empty()) {
      // Choose the smallest block that is large enough. If no block is large enough, replace the largest block by a
      // larger block.
      size_t best = 0;
      for (size_t i = 1; i < idle.size(); ++i) {
        bool fits = idle[i].size() >= bytes, bestFits = idle[best].size() >= bytes;
        if (fits ? !bestFits || idle[i].size() < idle[best].size() : !bestFits && idle[i].size() > idle[best].size())
          best = i;
      }
      Memory &chosen = idle[best].size() >= bytes ? block : tooSmall;
      chosen = std::move(idle[best]);
      if (best + 1 != idle.size())
        idle[best] = std::move(idle.back());
      idle.pop_back();
      if (&chosen == &block)
        return true;
    }
  }
  tooSmall = Memory();
  return Memory::allocate(bytes, block);
}

void ArenaPool::giveBack(Memory &&block) {
  if (!block.data())
    return;
  if (isShared(block.size()))
    return BlockPool::process().give(std::move(block));
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(std::move(block));
}

void ArenaPool::trim() {
  std::vector<Memory> freed;
  std::lock_guard<std::mutex> lock(mutex);
  freed.swap(idle);
}

int64_t ArenaPool::idleBytes() {
  std::lock_guard<std::mutex> lock(mutex);
  int64_t bytes = 0;
  for (const Memory &block : idle)
    bytes += block.size();
  return bytes;
}

} // namespace tilewright::runtime
