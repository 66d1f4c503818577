//===- BlockPool.cpp - large blocks of memory, kept for the next that needs one --===//
#include "lib/Runtime/Host/BlockPool.h"
#include "tilewright/OutputMemory.h"

#include <pthread.h>

namespace tilewright::runtime {

BlockPool &BlockPool::process() {
  static BlockPool *pool = [] {
    auto *fresh = new BlockPool; // leaked, and whole in a forked child: see ArenaPool
    pthread_atfork([] { process().mutex.lock(); }, [] { process().mutex.unlock(); }, [] { process().mutex.unlock(); });
    return fresh;
  }();
  return *pool;
}

bool BlockPool::take(int64_t bytes, Memory &block) {
  if (bytes >= smallest) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = kept.lower_bound(bytes);
    if (found != kept.end() && found->first <= bytes + bytes / 8) {
      block = std::move(found->second);
      held -= found->first;
      kept.erase(found);
      return true;
    }
  }
  return Memory::allocate(bytes, block);
}

void BlockPool::give(Memory &&block) {
  Memory dropped; // freed after the lock
  const int64_t bytes = block.size();
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes < smallest || held + bytes > most) {
    dropped = std::move(block);
    return;
  }
  held += bytes;
  kept.emplace(bytes, std::move(block));
}

std::shared_ptr<Memory> BlockPool::share(int64_t bytes) {
  Memory block;
  if (!take(bytes, block))
    return nullptr;
  return {new Memory(std::move(block)), [](Memory *shared) {
            process().give(std::move(*shared));
            delete shared;
          }};
}

OutputMemory takeOutputMemory(int64_t bytes) {
  Memory block;
  if (!BlockPool::process().take(bytes ? bytes : 1, block))
    return {};
  return block.release();
}

void giveOutputMemory(OutputMemory memory) { BlockPool::process().give(Memory::adopt(memory)); }

} // namespace tilewright::runtime
