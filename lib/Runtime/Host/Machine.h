//===- Machine.h - description of the CPU ---------------------------------===//
//
// Schedules and micro-kernels depend on this description, never on the name of a vendor or model. Its values are read
// from CPUID and the operating system. Properties that neither reports are measured once per process.
//
// TILEWRIGHT_CPU overrides the instruction sets: native (default), x86-64-v3, x86-64-v4, znver5, sapphirerapids,
// graniterapids.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_MACHINE_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_MACHINE_H

#include "lib/Runtime/Host/InstructionSets.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::runtime {

struct MachineDescription {
  std::string name;     ///< the requested name: "native" or a name of machineNames()
  std::string llvmCpu;  ///< LLVM's name of the CPU; for `native`, a baseline until the JIT sets the host's name
  std::string tune;     ///< LLVM's name of the CPU for instruction scheduling; empty: llvmCpu
  std::string features; ///< LLVM feature string: "+avx512f,+avx512bw,..."
  InstructionSets sets;
  bool native = true;           ///< true: no name overrides the host, and the description is that of the host
  bool runsHere = true;         ///< the host has all of `sets`
  bool bf16DotFullRate = false; ///< vdpbf16ps is about as fast as vfmadd231ps
  int vectorBytes = 16;
  int64_t l1dBytes = 32 << 10; ///< bytes of the L1 data cache of one core
  int64_t l1dWays = 8;         ///< lines per set of the L1 data cache
  int64_t lineBytes = 64;      ///< bytes per line of the L1 data cache
  int64_t l2Bytes = 1 << 20;   ///< bytes of the L2 cache of one core
  int64_t l3Bytes = 0;         ///< bytes of the cache that cores share; 0 if there is none
  int l3Cpus = 1;              ///< logical CPUs that share the L3, as far as known
  int logicalCpus = 1;         ///< number of logical CPUs that the affinity mask allows
  int physicalCores = 1;       ///< number of cores of the allowed logical CPUs
};

/// Returns the valid values of TILEWRIGHT_CPU.
std::vector<std::string> machineNames();

/// Describes the machine called `name` (null or empty: native). The sizes of caches and the numbers of CPUs are always
/// those of the host. If the name is unknown, returns false, with the list of names in `error`.
bool describeMachine(const char *name, MachineDescription &machine, std::string &error);

/// Describes the machine whose name is the value of TILEWRIGHT_CPU.
bool describeMachineFromEnvironment(MachineDescription &machine, std::string &error);

/// Returns the throughput of vdpbf16ps relative to vfmadd231ps on 512-bit registers, measured once per process; 0 if
/// the host has no AVX512_BF16. About 1 on Zen 4 and 5; 0.25 was measured on an Intel server with AMX.
double bf16DotRate();

/// Returns the f32 GFLOP/s of a thread that executes only FMAs on the widest registers, as an upper bound for the speed
/// of a GEMM. Returns 0 if the CPU has no FMA. The measurement takes some milliseconds.
double fmaPeak();

} // namespace tilewright::runtime

#endif
