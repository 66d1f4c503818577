//===- ClipThreads.cpp - number of threads of a call -----------------------===//
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/Futex.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace tilewright::runtime {

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
    static const long value = [] { // read once, as in OpenMP, because getenv races with setenv
      const char *omp = getenv("OMP_NUM_THREADS");
      return omp ? strtol(omp, nullptr, 10) : 0;
    }();
    requested = value > 0 ? int(std::min<long>(value, allowed)) : allowed;
  }
  return std::min(requested, allowed);
}

} // namespace tilewright::runtime
