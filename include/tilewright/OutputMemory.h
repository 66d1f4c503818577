//===- OutputMemory.h - memory of the tensors that calls return ------------===//
#ifndef TILEWRIGHT_OUTPUTMEMORY_H
#define TILEWRIGHT_OUTPUTMEMORY_H

#include <cstdint>

namespace tilewright::runtime {

struct OutputMemory {
  void *data = nullptr; ///< 64-byte aligned, contents undefined
  int64_t bytes = 0;    ///< there are, at least what was asked for
};

/// Memory for a tensor of `bytes` bytes; data is null when there is not so much. From 2 MiB on in huge pages where the
/// system has them. From any thread.
OutputMemory takeOutputMemory(int64_t bytes);

/// Takes back what takeOutputMemory() gave; large blocks are kept for later ones (BlockPool.h).
void giveOutputMemory(OutputMemory memory);

/// Gives the system back `bytes` of the large blocks that are kept for later calls and held by nobody, in whole blocks,
/// or all of them. Returns the bytes that are kept still. From any thread.
int64_t freeIdleMemory(int64_t bytes);

/// Has the C library give the system the free pages of its heaps, where the process holds more than `bytes`. Returns
/// what it holds afterwards, in bytes, 0 where the system does not say. From any thread; takes about a millisecond.
int64_t trimHeap(int64_t bytes);

/// Begins to bring in `bytes` more bytes, in a thread of its own, for packs that will be made soon
/// (lib/Runtime/Host/ReadyPages.h).
void bringPages(int64_t bytes);

} // namespace tilewright::runtime

#endif
