//===- Memory.cpp - aligned memory that reports its own failure -----------===//
#include "lib/Runtime/Host/Memory.h"

#include <cstdlib>
#include <sys/mman.h>

namespace tilewright::runtime {

static constexpr int64_t hugePageBytes = int64_t(2) << 20;
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
  if (bytes < hugePageBytes) {
    int64_t rounded = (bytes + 63) / 64 * 64;
    block.base = static_cast<uint8_t *>(aligned_alloc(64, size_t(rounded)));
    if (!block.base)
      return false;
    block.capacity = rounded >= hugePageBytes ? bytes : rounded;
    memory = std::move(block);
    return true;
  }
  // Map one huge page too much and give back what lies before and after the aligned part. The rest behind the last
  // whole huge page stays in small ones: BERT-base's packs would grow by a quarter.
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
  madvise(block.base, size_t(rounded / hugePageBytes * hugePageBytes), MADV_HUGEPAGE); // a hint: refusal is no error
  memory = std::move(block);
  return true;
}

} // namespace tilewright::runtime
