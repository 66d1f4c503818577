//===- OutputMemory.h - memory of the tensors that calls return ------------===//
#ifndef TILEWRIGHT_LIB_INTERFACES_OUTPUTMEMORY_H
#define TILEWRIGHT_LIB_INTERFACES_OUTPUTMEMORY_H

#include <cstdint>

namespace tilewright::runtime {

struct OutputMemory {
  void *data = nullptr; ///< 64-byte aligned, contents undefined
  int64_t bytes = 0;    ///< number of allocated bytes, at least the requested number
};

/// Allocates memory for a tensor of `bytes` bytes; `data` is null if the system has too little memory. Tensors of 2 MiB
/// or more use huge pages if the system has them. Thread-safe.
OutputMemory takeOutputMemory(int64_t bytes);

/// Frees memory that takeOutputMemory() has allocated. Large blocks are cached for reuse (BlockPool.h).
void giveOutputMemory(OutputMemory memory);

/// Frees large blocks that are cached for later calls, so that the operating system can use their memory, until at
/// least `bytes` bytes are freed or no cached block is left. Returns the number of bytes that are still cached.
/// Thread-safe.
int64_t freeIdleMemory(int64_t bytes);

/// Makes the C library return the free pages of its heaps to the system if the process uses more than `bytes`. Returns
/// the number of bytes that the process uses afterwards, or 0 if the system does not report it. Thread-safe.
int64_t trimHeap(int64_t bytes);

/// Starts a separate thread that allocates `bytes` more bytes and writes to each of their pages, so that they are in
/// memory when weights are packed (lib/Runtime/Host/PrefaultPages.h).
void bringPages(int64_t bytes);

} // namespace tilewright::runtime

#endif
