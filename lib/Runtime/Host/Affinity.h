//===- Affinity.h - how many threads this process may use -----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_AFFINITY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_AFFINITY_H

#include <vector>

namespace tilewright::runtime {

/// Returns the indices of the logical CPUs on which the calling thread may run, according to its affinity mask (which a
/// cpuset also restricts). The list is empty only if the system call fails.
std::vector<int> allowedCpus();

/// Returns the number of logical CPUs on which the calling thread may run, at least 1. Makes the system call at most
/// ten times a second per thread.
int allowedCpuCount();

/// Returns the number of threads to use if `requested` threads are requested. A request of 0 or less means the first
/// number in OMP_NUM_THREADS, or the number of allowed CPUs if the variable is not set. The result is between 1 and the
/// number of allowed CPUs.
int clipThreads(int requested);

} // namespace tilewright::runtime

#endif
