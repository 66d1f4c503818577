//===- Affinity.h - how many threads this process may use -----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_AFFINITY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_AFFINITY_H

#include <vector>

namespace tilewright::runtime {

/// Numbers of the logical CPUs the calling thread may run on (affinity mask, hence cpuset). Empty only if the kernel
/// refuses to tell.
std::vector<int> allowedCpus();

/// How many there are, at least 1. Asks the kernel at most ten times a second per thread.
int allowedCpuCount();

/// Threads to use for a request of `requested`: 0 or less means OMP_NUM_THREADS (its first number), or else every
/// allowed CPU. Never more than the allowed CPUs, never less than 1.
int clipThreads(int requested);

} // namespace tilewright::runtime

#endif
