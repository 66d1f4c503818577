//===- OutputMemory.cpp - memory of the tensors that calls return ----------===//
//
// Test: test/Unit/Host/OutputMemoryTest.cpp
//
//===----------------------------------------------------------------------===//
#include "tilewright/OutputMemory.h"
#include "lib/Runtime/Host/Memory.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <unordered_map>

namespace tilewright::runtime {
namespace {

class BlockPool {
public:
  static constexpr int64_t smallest = 1 << 17, most = int64_t(512) << 20;

  /// Never destroyed: tensors may outlive the library's statics.
  static BlockPool &process() {
    static auto *pool = new BlockPool;
    return *pool;
  }

  void *take(int64_t bytes) {
    if (void *kept = takeKept(bytes))
      return kept;
    Memory block;
    if (!Memory::allocate(bytes, block))
      return nullptr;
    std::lock_guard lock(mutex);
    return lend(std::move(block));
  }

  void give(void *memory) {
    Memory dropped; // freed after the lock
    std::lock_guard lock(mutex);
    auto entry = lent.extract(memory);
    const int64_t bytes = entry.mapped().size();
    if (held + bytes > most) {
      dropped = std::move(entry.mapped());
      return;
    }
    held += bytes;
    kept.emplace(bytes, std::move(entry.mapped()));
  }

private:
  /// A kept block of `bytes` or little more.
  void *takeKept(int64_t bytes) {
    std::lock_guard lock(mutex);
    auto found = kept.lower_bound(bytes);
    if (found == kept.end() || found->first > bytes + bytes / 8)
      return nullptr;
    Memory block = std::move(found->second);
    held -= found->first;
    kept.erase(found);
    return lend(std::move(block));
  }

  void *lend(Memory block) {
    void *data = block.data();
    lent.emplace(data, std::move(block));
    return data;
  }

  std::mutex mutex;
  std::multimap<int64_t, Memory> kept;
  std::unordered_map<void *, Memory> lent;
  int64_t held = 0; ///< bytes of `kept`
};

} // namespace

void *takeOutputMemory(int64_t bytes) {
  if (bytes >= BlockPool::smallest)
    return BlockPool::process().take(bytes);
  int64_t rounded = (bytes + 63) / 64 * 64;
  return std::aligned_alloc(64, size_t(rounded ? rounded : 64));
}

void giveOutputMemory(void *memory, int64_t bytes) {
  if (bytes >= BlockPool::smallest)
    BlockPool::process().give(memory);
  else
    std::free(memory);
}

} // namespace tilewright::runtime
