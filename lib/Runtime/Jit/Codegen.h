//===- Codegen.h - compile LLVM modules to object code --------------------===//
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

/// The passes of the middle end. Kernels are already vectorized and tiled, so a few clean-up passes suffice. The
/// pipeline O3 would take much longer, and would split the register blocks of micro-kernels.
inline constexpr llvm::StringLiteral defaultPasses =
    "function(sroa,instcombine<no-verify-fixpoint>,simplifycfg,early-cse,"
    "loop-mssa(licm),instcombine<no-verify-fixpoint>)";

struct CodegenOptions {
  std::string passes = defaultPasses.str(); ///< a pipeline in the syntax of `opt -passes=`; an empty string runs none
  llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default;
  bool contract = true; ///< fuse multiplies and adds into FMAs; false: only if both have the flag `contract`
};

/// Fills in LLVM's name of the host CPU and its full feature string if `machine` is the native one.
void completeNative(MachineDescription &machine);

/// Replaces machine.llvmCpu by the first of x86-64-v4, x86-64-v3 and x86-64 whose instruction sets machine.sets
/// includes, because the name of a CPU implies more features in LLVM than machine.sets. Instructions are still
/// scheduled for the named CPU, or for the host if `machine` is the native one.
void restrictToSets(MachineDescription &machine);

/// Creates a target machine for `machine` that emits position-independent code. Only one thread at a time may use a
/// target machine.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const MachineDescription &machine,
                                                                         const CodegenOptions &options = {});

/// Optimizes `module` and emits an ELF object. Replaces the module's triple and data layout. For invalid IR, the error
/// names the module and contains the verifier's message.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileToObject(std::unique_ptr<llvm::Module> module, llvm::TargetMachine &target, const CodegenOptions &options = {});

/// Optimizes `module` in the same way as compileToObject() and returns assembly text.
llvm::Expected<std::string> compileToAssembly(std::unique_ptr<llvm::Module> module, llvm::TargetMachine &target,
                                              const CodegenOptions &options = {});

/// Creates a module in the given context, for example by parsing bitcode or translating from MLIR.
using ModuleMaker = llvm::unique_function<llvm::Expected<std::unique_ptr<llvm::Module>>(llvm::LLVMContext &)>;

/// Compiles every module on up to `threads` threads, each with a separate context and target machine. The objects are
/// in the order of `makers`. If several modules fail, the error joins all errors.
llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>> compileInParallel(std::vector<ModuleMaker> makers,
                                                                                   const MachineDescription &machine,
                                                                                   int threads,
                                                                                   const CodegenOptions &options = {});

} // namespace tilewright::runtime

#endif
