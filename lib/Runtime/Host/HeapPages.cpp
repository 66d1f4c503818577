//===- HeapPages.cpp - return free pages of the C library's heaps to the system ---===//
//
// Test: test/Unit/Runtime/Host/BlockPoolTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/OutputMemory.h"

#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <unistd.h>

namespace tilewright::runtime {

/// Returns the process's resident bytes, or 0 if the system does not report them.
static int64_t resident() {
  char line[128] = "", *next = nullptr; // the total and the resident pages, and other numbers
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (!std::fgets(line, sizeof(line), file))
      line[0] = 0;
    std::fclose(file);
  }
  (void)std::strtoll(line, &next, 10);
  return std::strtoll(next, nullptr, 10) * ::sysconf(_SC_PAGESIZE);
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
