//===- HostCode.h - machine code for this kind of host, for tenants --------------------===//
//
// What a tenant that runs on the host's CPU needs of the runtime, so that it includes nothing of it: a description of
// the machine, an artifact (plan and object code in one image) of a module in the LLVM dialect, and its loading.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_HOSTCODE_H
#define TILEWRIGHT_HOSTCODE_H

#include "tilewright/Compiler.h"
#include "tilewright/Pipelines.h"

namespace tilewright {

struct HostMachine {
  std::string name;      ///< as TILEWRIGHT_CPU
  std::string key;       ///< equal keys run each other's code
  std::string recordKey; ///< of it, what measured times depend on: not the rates
  MachineShape shape;
  bool fma = false; ///< AVX2 and FMA are there, the least the cpu tenant asks for
  int threads = 1;  ///< logical CPUs the process may use
};

/// The machine of that name ("native" or empty: TILEWRIGHT_CPU, else the host).
llvm::Expected<HostMachine> describeHost(llvm::StringRef cpu);

/// The machine TILEWRIGHT_CPU names, and its measured FMA peak, a line each, for people.
llvm::Expected<std::string> printHost();

/// Measures the host's rates (MachineRates.h) in about two seconds and keeps them in the file at `path`, beside the
/// object cache. Processes that start from then on choose schedules by them; until then, and for other machines than
/// the host, schedules are chosen by the machine's description.
llvm::Expected<MachineRates> calibrateHost(std::string &path);

/// What the host's `threads` threads can do at most, in operations and bytes per second; 0 for what it does not have
/// (lib/Runtime/Host/MachinePeaks.h, which callers of this header may not include: hence a struct of its own). Takes
/// about a second.
struct HostPeaks {
  double f32 = 0, bf16 = 0, int8 = 0, l1 = 0, l2 = 0, l3 = 0, dram = 0;
  int64_t l2Bytes = 0; ///< of one core
  int64_t l3Bytes = 0; ///< that all share
};

HostPeaks measureHostPeaks(int threads);

/// The artifact of `module`: one tw_plan.program and its kernels as llvm functions.
llvm::Expected<std::string> emitHostArtifact(mlir::ModuleOp module, const Options &options);

/// The kernels of `module` in assembly language.
llvm::Expected<std::string> printHostAssembly(mlir::ModuleOp module, const Options &options);

/// Links the artifact's code in this process and binds its plan to it.
llvm::Expected<std::shared_ptr<Program>> loadHostArtifact(llvm::StringRef artifact, const Options &options);

} // namespace tilewright

#endif
