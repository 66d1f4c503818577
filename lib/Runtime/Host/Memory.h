//===- Memory.h - aligned memory whose allocation may fail ----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_MEMORY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_MEMORY_H

#include "lib/Interfaces/OutputMemory.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tilewright::runtime {

/// A block of bytes, 64-byte aligned, with undefined contents. Blocks of 2 MiB or more are aligned to 2 MiB and use
/// huge pages if the system has them, except for the remainder after the last whole huge page. An object can be moved,
/// but not copied. Its destructor frees the block.
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

  /// Rounds `bytes` up to a huge page if it is at least 5/8 of a huge page and less than one, because huge pages can be
  /// moved to other blocks. Returns other sizes unchanged.
  static int64_t sizeFor(int64_t bytes) {
    return bytes >= hugePageBytes / 8 * 5 && bytes < hugePageBytes ? hugePageBytes : bytes;
  }

  /// Allocates `bytes` bytes. If `bytes` is 0, the block is empty and its pointer is null. Returns false if the
  /// allocation fails.
  static bool allocate(int64_t bytes, Memory &memory);

  /// Moves huge pages from the end of `other` into this block, starting at `offset`, which must be a multiple of their
  /// size. Moves as many pages as `other` has, up to the end of this block. The contents of the moved pages are
  /// undefined. `other` shrinks, and loses the bytes after its last whole huge page. Returns the number of bytes moved.
  /// Returns 0 if the system does not support moving pages, or -1 if a part of this block is no longer mapped.
  int64_t takePages(int64_t offset, Memory &other);

  /// Releases the ownership of the block. A Memory can later be created from the result with adopt().
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
