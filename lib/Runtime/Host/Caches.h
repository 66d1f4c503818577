//===- Caches.h - cache sizes and cores of the host -----------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_CACHES_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_CACHES_H

#include "lib/Runtime/Host/Machine.h"

namespace tilewright::runtime {

/// Fills in the sizes of L1d, L2 and L3 from CPUID, or from sysfs if CPUID lacks them. If neither has the sizes, the
/// fields keep their default values.
void describeCaches(MachineDescription &machine);

/// Fills in logicalCpus and physicalCores from affinity and sysfs.
void describeCpus(MachineDescription &machine);

} // namespace tilewright::runtime

#endif
