//===- Affinity.cpp - how many threads this process may use ---------------===//
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/Futex.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sched.h>
#include <thread>

namespace tilewright::runtime {

std::vector<int> allowedCpus() {
  std::vector<int> cpus;
  // The kernel refuses a mask shorter than its own; grow until it fits.
  for (size_t count = 1024; count <= 1024 * 64; count *= 4) {
    size_t bytes = CPU_ALLOC_SIZE(count);
    std::vector<unsigned long> mask((bytes + sizeof(unsigned long) - 1) / sizeof(unsigned long), 0);
    auto *set = reinterpret_cast<cpu_set_t *>(mask.data());
    if (sched_getaffinity(0, bytes, set) != 0) {
      if (errno == EINVAL)
        continue;
      break;
    }
    for (size_t cpu = 0; cpu < bytes * 8; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set))
        cpus.push_back(int(cpu));
    break;
  }
  return cpus;
}

int allowedCpuCount() {
  static thread_local int64_t askedAt = 0;
  static thread_local int count = 0;
  int64_t now = monotonicNanoseconds();
  if (count == 0 || now - askedAt > 100'000'000) {
    size_t allowed = allowedCpus().size();
    count = std::max(1, allowed != 0 ? int(allowed) : int(std::thread::hardware_concurrency()));
    askedAt = now;
  }
  return count;
}

int clipThreads(int requested) {
  if (requested == 1)
    return 1;
  int allowed = allowedCpuCount();
  if (requested <= 0) {
    static const long value = [] { // read once, as OpenMP does: getenv races with setenv
      const char *omp = getenv("OMP_NUM_THREADS");
      return omp ? strtol(omp, nullptr, 10) : 0;
    }();
    requested = value > 0 ? int(std::min<long>(value, allowed)) : allowed;
  }
  return std::min(requested, allowed);
}

} // namespace tilewright::runtime
