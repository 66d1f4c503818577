//===- OutputMemory.h - memory of the tensors that calls return ------------===//
#ifndef TILEWRIGHT_OUTPUTMEMORY_H
#define TILEWRIGHT_OUTPUTMEMORY_H

#include <cstdint>

namespace tilewright::runtime {

/// `bytes` bytes, 64-byte aligned, their contents undefined; null when there are not so many. From 2 MiB on in huge
/// pages where the system has them. From any thread.
void *takeOutputMemory(int64_t bytes);

/// Takes back what takeOutputMemory(bytes) gave. Large blocks are kept for later outputs, half a GiB at most, since
/// fresh pages cost more than the work on them.
void giveOutputMemory(void *memory, int64_t bytes);

} // namespace tilewright::runtime

#endif
