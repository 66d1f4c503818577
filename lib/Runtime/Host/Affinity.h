//===- Affinity.h - how many threads this process may use -----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_AFFINITY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_AFFINITY_H

#include <vector>

namespace tilewright::runtime {

/// Returns the indices of the logical CPUs on which the calling thread may run, according to its affinity mask, which
/// includes the limits of a cpuset. The result is empty only if the system call fails.
std::vector<int> allowedCpus();

/// Returns the number of CPUs on which the calling thread may run, at least 1. To limit its cost, this function makes
/// the system call at most ten times per second and thread.
int allowedCpuCount();

/// Returns the number of threads for a request of `requested` threads. If `requested` is 0 or less, the request is the
/// first number in OMP_NUM_THREADS or, without that number, the number of allowed CPUs. The result is at least 1 and at
/// most the number of allowed CPUs.
int clipThreads(int requested);

} // namespace tilewright::runtime

#endif
