//===- HostCode.h - machine code for the host's CPU, for targets -----------------------===//
//
// This header declares the part of the runtime that a target for the host's CPU needs: a description of the machine, a
// function that compiles a module in the LLVM dialect to an artifact (plan and object code in one image), and a
// function that loads the artifact. Targets include no other header of the runtime.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_HOSTCODE_H
#define TILEWRIGHT_HOSTCODE_H

#include "tilewright/Compiler.h"
#include "tilewright/Pipelines.h"

namespace tilewright {

struct HostMachine {
  std::string name;      ///< a value of TILEWRIGHT_CPU
  std::string key;       ///< machines with equal keys can run each other's code
  std::string recordKey; ///< key of the machine in tuning records: `key` without the L1 cache and the rates
  MachineShape shape;
  bool fma = false; ///< true if AVX2 and FMA, the minimum of the target cpu, are available
  int threads = 1;  ///< number of logical CPUs that the process may use
};

/// Returns the description of the machine `cpu`. The names "native" and "" mean the machine that TILEWRIGHT_CPU names,
/// or the host if the variable is not set.
llvm::Expected<HostMachine> describeHost(llvm::StringRef cpu);

/// Returns the properties of the machine that TILEWRIGHT_CPU names and the host's measured FMA peak, one per line.
llvm::Expected<std::string> printHost();

/// Measures the host's rates (MachineRates.h), stores them in a file next to the object cache, and sets `path` to the
/// path of this file. Processes that start afterwards select schedules with these rates. Without them, and for machines
/// other than the host, schedules are selected with default rates that are derived from the machine description.
llvm::Expected<MachineRates> calibrateHost(std::string &path);

/// The peak rates of the host, in operations and bytes per second, which measureHostPeaks() measures on `threads`
/// threads. A rate that cannot be measured on the CPU is 0. The rates have the same meaning
/// as in runtime::MachinePeaks. They are copied to this struct because public headers do not include lib/Runtime/Host.
struct HostPeaks {
  double f32 = 0, bf16 = 0, int8 = 0, l1 = 0, l2 = 0, l3 = 0, dram = 0;
  int64_t l2Bytes = 0; ///< bytes of the L2 cache of one core
  int64_t l3Bytes = 0; ///< bytes of the L3 cache, which cores share
};

HostPeaks measureHostPeaks(int threads);

/// Returns the artifact of `module`: one tw_plan.program and its kernels as llvm functions.
llvm::Expected<std::string> emitHostArtifact(mlir::ModuleOp module, const Options &options);

/// Returns the kernels of `module` in assembly language.
llvm::Expected<std::string> printHostAssembly(mlir::ModuleOp module, const Options &options);

/// Returns the kernels of `module`, which are llvm functions for any target, as LLVM IR before LLVM optimizes it.
llvm::Expected<std::string> printLLVM(mlir::ModuleOp module);

/// Links the artifact's code into this process, and connects the artifact's plan with the code.
llvm::Expected<std::shared_ptr<Program>> loadHostArtifact(llvm::StringRef artifact, const Options &options);

} // namespace tilewright

#endif
