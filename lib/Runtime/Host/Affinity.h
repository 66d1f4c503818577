//===- Affinity.h - how many threads this process may use -----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_AFFINITY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_AFFINITY_H

#include <vector>

namespace tilewright::runtime {

/// Returns the indices of the logical CPUs on which the calling thread may run (affinity mask, hence cpuset). Empty
/// only if the system call fails.
std::vector<int> allowedCpus();

/// Returns the number of these CPUs, at least 1. Makes the system call at most ten times a second per thread.
int allowedCpuCount();

/// Returns the number of threads for a request of `requested`: 0 or less means OMP_NUM_THREADS (its first number), or
/// else every allowed CPU. Always between 1 and the number of allowed CPUs.
int clipThreads(int requested);

} // namespace tilewright::runtime

#endif
