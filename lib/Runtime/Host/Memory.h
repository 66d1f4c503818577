//===- Memory.h - aligned memory that reports its own failure -------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_MEMORY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_MEMORY_H

#include "tilewright/OutputMemory.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tilewright::runtime {

/// A block of bytes, 64-byte aligned; from 2 MiB on aligned to 2 MiB and offered to the kernel for huge pages, but
/// for what is left over, which would cost up to 2 MiB more. Contents are undefined. Movable, freed at its end.
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

  /// How large a block of `bytes` is made: near a huge page as large as one, which can become a part of other blocks.
  static int64_t sizeFor(int64_t bytes) {
    return bytes >= hugePageBytes / 8 * 5 && bytes < hugePageBytes ? hugePageBytes : bytes;
  }

  /// Allocates `bytes` (0 gives an empty block with a null pointer). False when the system has not that much.
  static bool allocate(int64_t bytes, Memory &memory);

  /// Moves huge pages from the end of `other` to this block's bytes from `offset` on, a multiple of their size, as many
  /// as there are and fit; what they hold is undefined. `other` shrinks, and loses what lies behind its last whole huge
  /// page. How many bytes have been moved (0: the system does not), or -1 when a part of this block is lost.
  int64_t takePages(int64_t offset, Memory &other);

  /// Gives the block away, as adopt() takes it.
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
  /// Usable bytes: what was asked for, rounded up.
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
