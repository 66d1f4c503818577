//===- Affinity.cpp - the CPUs that this process may use ------------------===//
#include "lib/Runtime/Host/Affinity.h"

#include <cerrno>
#include <sched.h>

namespace tilewright::runtime {

std::vector<int> allowedCpus() {
  std::vector<int> cpus;
  // Linux rejects a mask that is shorter than the kernel's CPU mask, so increase the size until the call succeeds.
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

} // namespace tilewright::runtime
