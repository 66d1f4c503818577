//===- BlockPool.cpp - pool of large blocks of memory ----------------------------===//
#include "lib/Runtime/Host/BlockPool.h"
#include "lib/Interfaces/OutputMemory.h"
#include "lib/Runtime/Host/PrefaultPages.h"
#include "lib/Runtime/Host/ProcessWide.h"

#include <algorithm>
#include <vector>

namespace tilewright::runtime {

BlockPool &BlockPool::process() { return processWide<BlockPool, &BlockPool::mutex>(); }

bool BlockPool::take(int64_t bytes, Memory &block) {
  bytes = Memory::sizeFor(bytes);
  if (bytes >= smallest) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = kept.lower_bound(bytes);
    if (found != kept.end() && found->first <= bytes + bytes / 8) {
      block = std::move(found->second);
      held -= found->first;
      kept.erase(found);
      lend(block.size());
      return true;
    }
  }
  if (!Memory::allocate(bytes, block))
    return false;
  if (block.size() < smallest)
    return true;
  const int64_t there = bytes < Memory::hugePageBytes ? 0 : PrefaultPages::process().moveTo(block);
  if (there < 0)
    return false;
  std::lock_guard<std::mutex> lock(mutex);
  lend(block.size());
  return bytes < Memory::hugePageBytes || assemble(block, there);
}

void BlockPool::lend(int64_t bytes) {
  lent += bytes;
  if (trough < peak / 2) {
    lastPeak = peak;
    peak = trough = lent;
  }
  if (lent > peak)
    peak = trough = lent;
}

/// Replaces the newly mapped pages of `block` from offset `done` on by huge pages of cached blocks, starting with the
/// largest cached block. Returns false if a part of `block` is no longer mapped. The lock must be held.
bool BlockPool::assemble(Memory &block, int64_t done) {
  while (done + Memory::hugePageBytes <= block.size() && !kept.empty() &&
         kept.rbegin()->first >= Memory::hugePageBytes) {
    auto largest = kept.extract(std::prev(kept.end()));
    const int64_t before = largest.key();
    const int64_t moved = block.takePages(done, largest.mapped());
    held -= before - largest.mapped().size();
    largest.key() = largest.mapped().size();
    if (largest.key() > 0)
      kept.insert(std::move(largest));
    if (moved < 0) {
      lent -= block.size();
      return false;
    }
    if (moved == 0)
      break; // the system does not support moving pages
    done += moved;
  }
  return true;
}

void BlockPool::trim(int64_t bytes) {
  std::vector<Memory> freed; // its elements are freed after the lock is released
  std::lock_guard<std::mutex> lock(mutex);
  shrink(std::max<int64_t>(0, held - bytes), freed);
}

void BlockPool::shrink(int64_t bytes, std::vector<Memory> &dropped) {
  while (held > bytes) {
    auto largest = kept.extract(std::prev(kept.end()));
    held -= largest.key();
    dropped.push_back(std::move(largest.mapped()));
  }
}

int64_t BlockPool::idleBytes() {
  std::lock_guard<std::mutex> lock(mutex);
  return held;
}

void BlockPool::give(Memory &&block) {
  Memory given = std::move(block);
  const int64_t bytes = given.size();
  if (bytes < smallest)
    return;
  std::vector<Memory> dropped; // its elements are freed after the lock is released
  std::lock_guard<std::mutex> lock(mutex);
  lent -= bytes;
  trough = std::min(trough, lent);
  // Prefer this block to blocks that are already cached, because its data may still be in the CPU caches.
  const int64_t allowed = std::min(most, std::max(peak, lastPeak) - lent);
  if (bytes > allowed) {
    dropped.push_back(std::move(given));
    return;
  }
  shrink(allowed - bytes, dropped);
  held += bytes;
  kept.emplace(bytes, std::move(given));
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

int64_t freeIdleMemory(int64_t bytes) {
  BlockPool::process().trim(bytes);
  return BlockPool::process().idleBytes();
}

void giveOutputMemory(OutputMemory memory) { BlockPool::process().give(Memory::adopt(memory)); }

} // namespace tilewright::runtime
