//===- Codegen.h - LLVM modules become object code ------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_JIT_CODEGEN_H
#define TILEWRIGHT_LIB_RUNTIME_JIT_CODEGEN_H

#include "lib/Runtime/Host/Machine.h"

#include "llvm/ADT/FunctionExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <vector>

namespace tilewright::runtime {

/// The middle end's passes. Kernels come vectorized and tiled, so that a few clean-up passes do; O3 costs ten times
/// as much and undoes register blocks.
inline constexpr llvm::StringLiteral defaultPasses =
    "function(sroa,instcombine<no-verify-fixpoint>,simplifycfg,early-cse,"
    "loop-mssa(licm),instcombine<no-verify-fixpoint>)";

struct CodegenOptions {
  std::string passes = defaultPasses.str(); ///< a pipeline as `opt -passes=` reads it; empty runs none
  llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default;
  bool contract = true; ///< a multiply and an add become an FMA; false: only where both carry the flag
};

/// Fills in LLVM's name of the host CPU and its full feature string when `machine` is the native one.
void completeNative(MachineDescription &machine);

/// Makes the code of `machine` run on every CPU that has machine.sets: a CPU's name promises LLVM more than these.
/// Instructions are still ordered for the CPU it names, the host's when it is the native one.
void restrictToSets(MachineDescription &machine);

/// A target machine for `machine`: position-independent code, a multiply and an add become an FMA where the IR says
/// nothing against it. One target machine serves one thread at a time.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const MachineDescription &machine,
                                                                         const CodegenOptions &options = {});

/// Optimizes `module` and emits an ELF object. Takes over the module's triple and data layout. The error text names
/// the module and, for invalid IR, the verifier's complaint.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileToObject(std::unique_ptr<llvm::Module> module, llvm::TargetMachine &target, const CodegenOptions &options = {});

/// The same as text in the machine's assembly language.
llvm::Expected<std::string> compileToAssembly(std::unique_ptr<llvm::Module> module, llvm::TargetMachine &target,
                                              const CodegenOptions &options = {});

/// Makes one module in the context it is given: parses bitcode, translates from MLIR...
using ModuleMaker = llvm::unique_function<llvm::Expected<std::unique_ptr<llvm::Module>>(llvm::LLVMContext &)>;

/// Compiles every module on up to `threads` threads, each with its own context and target machine. The objects are in
/// the order of `makers`; of several errors all are joined.
llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>> compileInParallel(std::vector<ModuleMaker> makers,
                                                                                   const MachineDescription &machine,
                                                                                   int threads,
                                                                                   const CodegenOptions &options = {});

} // namespace tilewright::runtime

#endif
