//===- Calibration.h - the constants of this machine's cost model ----------------===//
//
// This file provides the rates of a machine that the cost model of schedules (lib/Codegen/CPU/Schedule) uses. The rates
// are measured in about two seconds or, before a measurement, derived from the machine description.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_CALIBRATION_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_CALIBRATION_H

#include "lib/Runtime/Host/Machine.h"
#include "tilewright/MachineRates.h"

namespace tilewright::runtime {

/// Returns rounded default rates for machines with the instruction sets of `machine`. They do not depend on the host.
MachineRates defaultRates(const MachineDescription &machine);

/// Returns rounded rates of the host, measured on all threads that the process may use.
MachineRates measureRates();

/// Returns a key that contains the properties on which the host's rates depend: the CPU, the number of CPUs and the
/// caches.
std::string rateIdentity();

} // namespace tilewright::runtime

#endif
