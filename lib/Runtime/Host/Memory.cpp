//===- Memory.cpp - aligned memory whose allocation may fail --------------===//
#include "lib/Runtime/Host/Memory.h"

#include <cstdlib>
#include <sys/mman.h>

namespace tilewright::runtime {

static constexpr int64_t smallPageBytes = 4096;
static constexpr int64_t largestBlockBytes = int64_t(1) << 47;

Memory::~Memory() {
  if (capacity >= hugePageBytes)
    munmap(base, size_t(capacity));
  else
    free(base);
}

bool Memory::allocate(int64_t bytes, Memory &memory) {
  memory = Memory();
  if (bytes < 0 || bytes > largestBlockBytes)
    return false;
  if (bytes == 0)
    return true;
  Memory block;
  bytes = sizeFor(bytes);
  if (bytes < hugePageBytes) {
    int64_t rounded = (bytes + 63) / 64 * 64;
    block.base = static_cast<uint8_t *>(aligned_alloc(64, size_t(rounded)));
    if (!block.base)
      return false;
    block.capacity = rounded >= hugePageBytes ? bytes : rounded;
    memory = std::move(block);
    return true;
  }
  // Map one extra huge page and unmap the bytes before and after the aligned part. The remainder after the last whole
  // huge page uses small pages, because rounding all blocks up to huge pages would use much more memory.
  int64_t rounded = (bytes + smallPageBytes - 1) / smallPageBytes * smallPageBytes;
  size_t mapped = size_t(rounded + hugePageBytes);
  void *address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return false;
  auto first = reinterpret_cast<uintptr_t>(address);
  uintptr_t aligned = (first + hugePageBytes - 1) / hugePageBytes * hugePageBytes;
  uintptr_t end = aligned + uintptr_t(rounded);
  if (aligned != first)
    munmap(address, aligned - first);
  if (end != first + mapped)
    munmap(reinterpret_cast<void *>(end), first + mapped - end);
  block.base = reinterpret_cast<uint8_t *>(aligned);
  block.capacity = rounded;
  madvise(block.base, size_t(rounded / hugePageBytes * hugePageBytes), MADV_HUGEPAGE); // a hint, which may fail
  memory = std::move(block);
  return true;
}

int64_t Memory::takePages(int64_t offset, Memory &other) {
  const int64_t whole = other.capacity / hugePageBytes * hugePageBytes;
  if (whole < other.capacity)
    munmap(other.base + whole, size_t(other.capacity - whole));
  other.capacity = whole;
  // Move pages one by one: an assembled block consists of several mappings, and mremap moves pages of only one.
  int64_t moved = 0;
  bool possible = true, lost = false;
  while (possible && other.capacity > 0 && offset + moved + hugePageBytes <= capacity) {
    uint8_t *from = other.base + other.capacity - hugePageBytes, *to = base + offset + moved;
    possible = mremap(from, hugePageBytes, hugePageBytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
    if (possible) {
      other.capacity -= hugePageBytes;
      moved += hugePageBytes;
    } else { // if mremap fails, the destination may be unmapped, so map it again
      lost = mmap(to, hugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != to;
    }
  }
  if (other.capacity == 0)
    other.base = nullptr;
  return lost ? -1 : moved;
}

} // namespace tilewright::runtime
