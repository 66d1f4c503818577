//===- Machine.h - what this CPU can do -----------------------------------===//
//
// Schedules and micro-kernels ask this description, never a vendor's or a model's name. Read from CPUID, the system
// and, where neither tells, a measurement of microseconds.
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
  std::string name;     ///< what was asked for: "native" or a name of machineNames()
  std::string llvmCpu;  ///< LLVM's name of the CPU; for native a baseline, until the JIT puts the host's name here
  std::string tune;     ///< LLVM's CPU to order instructions for; empty: llvmCpu
  std::string features; ///< LLVM feature string: "+avx512f,+avx512bw,..."; empty when llvmCpu says all
  InstructionSets sets;
  bool native = true;           ///< no override: the description is the host's
  bool runsHere = true;         ///< the host has every instruction set named
  bool bf16DotFullRate = false; ///< vdpbf16ps is as fast as vfmadd231ps
  int vectorBytes = 16;
  int64_t l1dBytes = 32 << 10; ///< per core
  int64_t l2Bytes = 1 << 20;   ///< per core
  int64_t l3Bytes = 0;         ///< of the cache a core shares with others; 0 when there is none
  int l3Cpus = 1;              ///< logical CPUs that share it, as far as known
  int logicalCpus = 1;         ///< allowed by affinity
  int physicalCores = 1;       ///< behind the allowed logical CPUs
};

/// The names TILEWRIGHT_CPU may have.
std::vector<std::string> machineNames();

/// Describes the machine called `name` (null or empty: native); sizes and counts are always the host's. False, with
/// the list of names in `error`, for an unknown one.
bool describeMachine(const char *name, MachineDescription &machine, std::string &error);

/// The machine that TILEWRIGHT_CPU names.
bool describeMachineFromEnvironment(MachineDescription &machine, std::string &error);

/// Throughput of vdpbf16ps over that of vfmadd231ps on 512-bit registers, measured once per process on registers
/// alone; 0 when the host has no AVX512_BF16. About 1 on Zen 4 and 5; 0.25 was seen on an Intel server with AMX.
double bf16DotRate();

/// f32 GFLOP/s of one thread that does nothing but FMA on registers, in the widest vectors there are: what a GEMM's
/// speed is compared with. Takes some 10 ms; 0 without FMA.
double fmaPeak();

} // namespace tilewright::runtime

#endif
