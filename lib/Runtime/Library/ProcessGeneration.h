//===- ProcessGeneration.h - detect a fork with one load --------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_LIBRARY_PROCESSGENERATION_H
#define TILEWRIGHT_LIB_RUNTIME_LIBRARY_PROCESSGENERATION_H

#include "lib/Interfaces/ForkGeneration.h"

#include <atomic>
#include <new>
#include <sys/mman.h>

namespace tilewright::library {

/// Computes forkGeneration() without a system call, except for the first call in a process. The number is stored in a
/// page that the system fills with zeros in a forked child process (MADV_WIPEONFORK). On Linux before 4.14, which does
/// not support such pages, each call queries the process ID.
class ProcessGeneration {
public:
  ProcessGeneration() {
    void *made = mmap(nullptr, pageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
      return;
    if (madvise(made, pageBytes, MADV_WIPEONFORK) == 0)
      number = new (made) std::atomic<uint64_t>(0);
    else
      munmap(made, pageBytes);
  }
  ~ProcessGeneration() {
    if (number)
      munmap(number, pageBytes);
  }
  ProcessGeneration(const ProcessGeneration &) = delete;
  ProcessGeneration &operator=(const ProcessGeneration &) = delete;

  uint64_t get() {
    if (!number)
      return runtime::forkGeneration();
    uint64_t known = number->load(std::memory_order_relaxed);
    if (known == 0)
      number->store(known = runtime::forkGeneration(), std::memory_order_relaxed); // all threads compute the same value
    return known;
  }

private:
  static constexpr size_t pageBytes = 4096;
  std::atomic<uint64_t> *number = nullptr;
};

} // namespace tilewright::library

#endif
