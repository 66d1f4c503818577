//===- Calibration.h - the constants of this machine's cost model ----------------===//
//
// This file provides the rates of a machine that the cost model of schedules (lib/Codegen/CPU/Schedule) uses. The rates
// are measured or, before a measurement, derived from the machine description.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_CALIBRATION_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_CALIBRATION_H

#include "lib/Runtime/Host/Machine.h"
#include "tilewright/MachineRates.h"

namespace tilewright::runtime {

/// Returns rounded default rates for machines with the instruction sets and the bf16DotFullRate of `machine`.
MachineRates defaultRates(const MachineDescription &machine);

/// Returns rounded rates of the host, measured on all CPUs that the process may use. Rates that cannot be measured have
/// their default values. The rate of f16 is not measured: on CPUs with AMX for bf16, it is the rate of bf16 times the
/// ratio of the two default rates, and otherwise it is the rate of f32.
MachineRates measureRates();

/// Returns a key that contains the properties on which the host's rates depend: the CPU model and its instruction sets,
/// the number of CPUs, and the caches.
std::string rateIdentity();

} // namespace tilewright::runtime

#endif
