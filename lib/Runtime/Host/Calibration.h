//===- Calibration.h - the constants of this machine's cost model ----------------===//
//
// What lib/Tiled's model of a schedule's time asks for, measured (about two seconds), or, before anybody has asked for
// that, taken from the description of the machine.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_CALIBRATION_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_CALIBRATION_H

#include "lib/Runtime/Host/Machine.h"
#include "tilewright/MachineRates.h"

namespace tilewright::runtime {

/// Rounded rates of machines with these instruction sets. Of the machine that is described alone: the same on any host.
MachineRates defaultRates(const MachineDescription &machine);

/// Rounded rates of the host, measured on all threads the process may use.
MachineRates measureRates();

/// What tells hosts apart whose rates may differ: CPU, cores, caches.
std::string rateIdentity();

} // namespace tilewright::runtime

#endif
