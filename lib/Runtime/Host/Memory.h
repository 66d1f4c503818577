//===- Memory.h - aligned memory whose allocation may fail ----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_MEMORY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_MEMORY_H

#include "tilewright/OutputMemory.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tilewright::runtime {

/// A block of bytes, 64-byte aligned. From 2 MiB on it is aligned to 2 MiB, and the kernel is asked to use huge
/// pages, except for the remainder after the last whole one, which would cost up to 2 MiB more. Contents are
/// undefined. Movable; the destructor frees it.
class Memory {
public:
  static constexpr int64_t hugePageBytes = int64_t(2) << 20;

  Memory() = default;
  Memory(Memory &&other) noexcept { swap(other); }
  Memory &operator=(Memory &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory();

  /// Returns the allocated size for `bytes`: sizes near a huge page are rounded up to one, which can be reused.
  static int64_t sizeFor(int64_t bytes) {
    return bytes >= hugePageBytes / 8 * 5 && bytes < hugePageBytes ? hugePageBytes : bytes;
  }

  /// Allocates `bytes` (0 gives an empty block with a null pointer). Returns false if the allocation fails.
  static bool allocate(int64_t bytes, Memory &memory);

  /// Moves huge pages from the end of `other` to this block from `offset` on, a multiple of their size, as many as
  /// are available and fit; their contents are undefined. `other` shrinks, and loses the bytes after its last whole
  /// huge page. Returns the number of bytes moved (0: not supported), or -1 if a part of this block is lost.
  int64_t takePages(int64_t offset, Memory &other);

  /// Transfers ownership of the block, which adopt() takes over.
  OutputMemory release() {
    OutputMemory given{base, capacity};
    base = nullptr;
    capacity = 0;
    return given;
  }
  static Memory adopt(OutputMemory given) {
    Memory memory;
    memory.base = static_cast<uint8_t *>(given.data);
    memory.capacity = given.bytes;
    return memory;
  }

  uint8_t *data() const { return base; }
  /// Returns the usable bytes: the requested size, rounded up.
  int64_t size() const { return capacity; }

private:
  void swap(Memory &other) {
    std::swap(base, other.base);
    std::swap(capacity, other.capacity);
  }

  uint8_t *base = nullptr;
  int64_t capacity = 0;
};

} // namespace tilewright::runtime

#endif
