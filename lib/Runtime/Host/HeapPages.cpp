//===- HeapPages.cpp - return free pages of the C library's heaps to the system ---===//
//
// Test: test/Unit/Runtime/Host/BlockPoolTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/OutputMemory.h"

#include <cstdio>
#include <malloc.h>
#include <unistd.h>

namespace tilewright::runtime {

/// Returns the process's resident bytes, or 0 if the system does not report them.
static int64_t resident() {
  long pages = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*s %ld", &pages) != 1)
      pages = 0;
    std::fclose(file);
  }
  return int64_t(pages) * ::sysconf(_SC_PAGESIZE);
}

int64_t trimHeap(int64_t bytes) {
  if (int64_t held = resident(); held <= bytes)
    return held;
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  return resident();
}

} // namespace tilewright::runtime
