//===- Codegen.cpp - compile LLVM modules to object code ------------------===//
#include "lib/Runtime/Jit/Codegen.h"
#include "lib/Runtime/Jit/BfloatComparisons.h"
#include "lib/Runtime/Jit/CrashNet.h"
#include "lib/Runtime/Jit/SingleLaneStores.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace tilewright::runtime {

static llvm::Error codegenError(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

static void initializeNativeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

/// Returns LLVM's name of the host's CPU. LLVM executes CPUID at each call, which is slow in a virtual machine.
static const std::string &hostCpuName() {
  static const std::string name = llvm::sys::getHostCPUName().str();
  return name;
}

static std::string readHostFeatures() {
  // List all features, with a minus for those that are absent, because the CPU's name may imply features that a
  // hypervisor disables.
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(features.begin(), features.end()); // sort, because the string is part of cache keys
  return llvm::join(features, ",");
}

void completeNative(MachineDescription &machine) {
  if (!machine.native)
    return;
  static const std::string features = readHostFeatures();
  machine.llvmCpu = hostCpuName();
  machine.features = features;
  // The code generator of kernels chooses the vector width, so allow vectors of 512 bits.
  if (machine.sets.avx512f)
    machine.features += (features.empty() ? "" : ",") + std::string("-prefer-256-bit");
  // LLVM 22.1 treats bf16 as a native type on CPUs with AVX10.2, but cannot select instructions for comparisons,
  // minima, maxima and conversions of bf16 vectors there.
  if (llvm::StringRef(features).contains("+avx10.2"))
    machine.features += ",-avx10.2";
}

void restrictToSets(MachineDescription &machine) {
  const InstructionSets &sets = machine.sets;
  machine.tune = machine.native ? hostCpuName() : machine.llvmCpu;
  const bool v3 = sets.avx2 && sets.fma && sets.f16c && sets.bmi && sets.bmi2 && sets.lzcnt && sets.movbe;
  const bool v4 = v3 && sets.avx512f && sets.avx512bw && sets.avx512dq && sets.avx512vl && sets.avx512cd && sets.popcnt;
  machine.llvmCpu = v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64";
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const MachineDescription &machine,
                                                                         const CodegenOptions &options) {
  initializeNativeTarget();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return codegenError("this LLVM cannot generate code for " + triple.str() + ": " + problem);
  llvm::TargetOptions targetOptions;
  targetOptions.AllowFPOpFusion = options.contract ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> result(target->createTargetMachine(triple, machine.llvmCpu, machine.features,
                                                                          targetOptions, llvm::Reloc::PIC_,
                                                                          llvm::CodeModel::Small, options.level,
                                                                          /*JIT=*/true));
  if (!result)
    return codegenError("this LLVM does not support the CPU '" + machine.llvmCpu + "'");
  return result;
}

static llvm::Error optimizeModule(llvm::Module &module, llvm::TargetMachine &target, llvm::StringRef passes) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager pipeline;
  if (llvm::Error error = builder.parsePassPipeline(pipeline, passes))
    return codegenError("cannot read the pass pipeline '" + passes + "': " + llvm::toString(std::move(error)));
  pipeline.run(module, modules);
  return llvm::Error::success();
}

/// Collects errors of code generation. Without a handler, LLVM prints an error and ends the process.
class ErrorKeeper : public llvm::DiagnosticHandler {
public:
  explicit ErrorKeeper(std::string &errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return false;
    llvm::raw_string_ostream stream(errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    stream << (errors.empty() ? "" : "; ");
    info.print(printer);
    return true;
  }

private:
  std::string &errors;
};

/// Optimizes `module` and writes it to `bytes` in the format `type`.
static llvm::Error emitFile(llvm::Module *module, llvm::TargetMachine &target, const CodegenOptions &options,
                            llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &bytes) {
  module->setTargetTriple(target.getTargetTriple());
  module->setDataLayout(target.createDataLayout());
  std::string complaint, errors;
  module->getContext().setDiagnosticHandler(std::make_unique<ErrorKeeper>(errors));
  llvm::scope_exit forgetErrors([&] { module->getContext().setDiagnosticHandler(nullptr); });
  llvm::raw_string_ostream complaintStream(complaint);
  if (llvm::verifyModule(*module, &complaintStream))
    return codegenError("the LLVM module '" + module->getName() + "' is invalid: " + complaint);
  if (!options.passes.empty())
    if (llvm::Error error = optimizeModule(*module, target, options.passes))
      return error;
  storeOneLaneAsScalars(*module);
  compareBfloatsAsFloats(*module);
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager codegen;
  if (target.addPassesToEmitFile(codegen, stream, nullptr, type, /*DisableVerify=*/true))
    return codegenError("the target cannot emit this kind of file");
  codegen.run(*module);
  if (!errors.empty())
    return codegenError("LLVM cannot generate code for '" + module->getName() + "' on " + target.getTargetCPU() + ": " +
                        errors);
  return llvm::Error::success();
}

llvm::Expected<std::string> compileToAssembly(std::unique_ptr<llvm::Module> module, llvm::TargetMachine &target,
                                              const CodegenOptions &options) {
  llvm::SmallString<0> text;
  if (llvm::Error error = emitFile(module.get(), target, options, llvm::CodeGenFileType::AssemblyFile, text))
    return std::move(error);
  return text.str().str();
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileToObject(std::unique_ptr<llvm::Module> module, llvm::TargetMachine &target, const CodegenOptions &options) {
  llvm::SmallVector<char, 0> bytes;
  if (llvm::Error error = emitFile(module.get(), target, options, llvm::CodeGenFileType::ObjectFile, bytes))
    return std::move(error);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), module->getName(),
                                                         /*RequiresNullTerminator=*/false);
}

llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>> compileInParallel(std::vector<ModuleMaker> makers,
                                                                                   const MachineDescription &machine,
                                                                                   int threads,
                                                                                   const CodegenOptions &options) {
  initializeNativeTarget();
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(makers.size());
  std::atomic<size_t> next{0};
  std::mutex errorMutex;
  llvm::Error errors = llvm::Error::success();
  auto note = [&](llvm::Error error) {
    std::lock_guard<std::mutex> lock(errorMutex);
    errors = llvm::joinErrors(std::move(errors), std::move(error));
  };
  auto work = [&] {
    auto target = createTargetMachine(machine, options);
    if (!target)
      return note(target.takeError());
    for (size_t i; (i = next.fetch_add(1)) < makers.size();) {
      llvm::LLVMContext context;
      auto module = makers[i](context);
      if (!module) {
        note(module.takeError());
        continue;
      }
      if (!machine.tune.empty())
        for (llvm::Function &function : **module)
          function.addFnAttr("tune-cpu", machine.tune);
      auto object = compileToObject(std::move(*module), **target, options);
      if (object)
        objects[i] = std::move(*object);
      else
        note(object.takeError());
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && size_t(i) < makers.size(); ++i)
    helpers.emplace_back([&work, catcher = currentCatcher()] {
      CrashScope scope(catcher);
      work();
    });
  work();
  for (std::thread &helper : helpers)
    helper.join();
  if (errors)
    return std::move(errors);
  return objects;
}

} // namespace tilewright::runtime
