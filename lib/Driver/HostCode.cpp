//===- HostCode.cpp - machine code for this kind of host, for targets ------------------===//
#include "tilewright/HostCode.h"
#include "lib/Driver/CalibrationFile.h"
#include "lib/Driver/HostArtifact.h"
#include "lib/Driver/ObjectCache.h"
#include "lib/Interfaces/NumberText.h"
#include "lib/Plan/PlanFromIR.h"
#include "lib/Runtime/Host/Calibration.h"
#include "lib/Runtime/Host/Executor.h"
#include "lib/Runtime/Host/Machine.h"
#include "lib/Runtime/Host/MachinePeaks.h"
#include "lib/Runtime/Jit/Codegen.h"
#include "lib/Runtime/Jit/Jit.h"
#include "lib/Runtime/Plan/Plan.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace tilewright {
namespace {

class HostProgram final : public Program {
public:
  explicit HostProgram(std::unique_ptr<runtime::Executable> executable) : executable(std::move(executable)) {}

  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *versions,
           int threads, RunError &error, CallersMemory *memory) override {
    llvm::SmallVector<runtime::InputIdentity, 64> identities = identify(inputs, versions);
    return executable->run(inputs, outputs, symbols, threads, error, versions ? identities.data() : nullptr, memory) ||
           withLine(error, report.stepLines);
  }

  void packAhead(const void *const *inputs, const uint64_t *versions) override {
    llvm::SmallVector<runtime::InputIdentity, 64> identities = identify(inputs, versions);
    executable->packAhead(std::vector<const void *>(inputs, inputs + executable->plan().numInputs),
                          std::vector<runtime::InputIdentity>(identities.begin(), identities.end()));
  }
  void endPackAhead() override { executable->endPackAhead(); }

  bool isBrief() const override { return executable->isBrief(); }
  void repack() override { executable->repack(); }
  std::vector<bool> packedInputs() const override { return executable->packedInputs(); }
  int64_t packedBytes() override { return executable->packedBytes(); }
  void onPacked(ReleaseInput release) override {
    executable->onPacked([release = std::move(release)](int32_t input, const void *data, uint64_t number,
                                                        std::vector<std::shared_ptr<const runtime::PackedSet>> packs) {
      return release(size_t(input), data, number, {packs.begin(), packs.end()});
    });
  }

  void profile(bool on) override { executable->profile(on); }

  std::vector<KernelTime> times(const int64_t *symbols) override {
    std::vector<KernelTime> result;
    std::string error;
    for (const runtime::StepTime &time : executable->times(symbols, error)) {
      const plan::Step &step = *time.step;
      bool launch = step.kind == plan::Step::Kind::Launch;
      result.push_back({launch ? executable->plan().kernels[step.callee] : "", step.label, step.schedule,
                        time.nanoseconds, time.work.flops, time.work.bytes, time.work.kept});
    }
    return result;
  }

private:
  /// Returns the address and version of every input, or an empty list if `versions` is null.
  llvm::SmallVector<runtime::InputIdentity, 64> identify(const void *const *inputs, const uint64_t *versions) const {
    llvm::SmallVector<runtime::InputIdentity, 64> identities;
    for (int32_t input = 0; versions && input < executable->plan().numInputs; ++input)
      identities.push_back({inputs[input], versions[input]});
    return identities;
  }

  std::unique_ptr<runtime::Executable> executable;
};

} // namespace

/// Describes the machine `cpu`. If `portable` is true (see Options), the description is restricted to the features that
/// its instruction sets imply, so that code for it runs on every CPU with these sets.
static llvm::Expected<runtime::MachineDescription> describe(StringRef cpu, bool portable = false) {
  runtime::MachineDescription machine;
  std::string error;
  bool known = cpu.empty() || cpu == "native" ? runtime::describeMachineFromEnvironment(machine, error)
                                              : runtime::describeMachine(cpu.str().c_str(), machine, error);
  if (!known)
    return llvm::createStringError("%s", error.c_str());
  if (portable)
    runtime::restrictToSets(machine);
  else
    runtime::completeNative(machine);
  return machine;
}

/// Returns the rates that calibrateHost() stored for this host. They are read once per process, so that all schedules
/// of the process use the same rates.
static const std::optional<MachineRates> &keptRates() {
  static const std::optional<MachineRates> kept = []() -> std::optional<MachineRates> {
    std::string error, folder = defaultCacheFolder(error);
    return folder.empty() ? std::nullopt : loadRates(folder, runtime::rateIdentity());
  }();
  return kept;
}

llvm::Expected<MachineRates> calibrateHost(std::string &path) {
  std::string reason, folder = defaultCacheFolder(reason);
  if (folder.empty())
    return llvm::createStringError("there is no folder for the rates: %s", reason.c_str());
  const std::string identity = runtime::rateIdentity();
  MachineRates rates = runtime::measureRates();
  path = ratesPath(folder, identity);
  if (!storeRates(folder, identity, rates, reason))
    return llvm::createStringError("the rates cannot be stored: %s", reason.c_str());
  return rates;
}

llvm::Expected<HostMachine> describeHost(StringRef cpu) {
  llvm::Expected<runtime::MachineDescription> machine = describe(cpu);
  if (!machine)
    return machine.takeError();
  HostMachine host;
  host.name = machine->name;
  host.key = machine->llvmCpu + "|" + machine->features;
  host.fma = machine->sets.avx2 && machine->sets.fma;
  host.threads = machine->logicalCpus;
  const runtime::InstructionSets &sets = machine->sets;
  // Add the properties that the cost model and instruction selection use to the key, because they determine the code.
  host.key += "|l2=" + std::to_string(machine->l2Bytes) + "|l3=" + std::to_string(machine->l3Bytes) +
              "|dot=" + std::to_string(machine->bf16DotFullRate);
  bool wide = sets.avx512f && sets.avx512bw && sets.avx512vl && sets.avx512dq;
  host.shape.lanes = wide ? 16 : 8;
  host.shape.registers = wide ? 32 : 16;
  host.shape.threads = machine->logicalCpus;
  host.shape.l1Bytes = machine->l1dBytes;
  host.shape.l1Ways = machine->l1dWays;
  host.shape.lineBytes = machine->lineBytes;
  host.shape.l2Bytes = machine->l2Bytes;
  host.shape.l3Bytes = machine->l3Bytes;
  host.shape.rates = runtime::defaultRates(*machine);
  if (machine->native && keptRates())
    host.shape.rates = *keptRates();
  // For tests, TILEWRIGHT_EMULATE_AMX=1 compiles AMX kernels to vector instructions on any machine with AVX-512. The
  // value "bf16" emulates tiles of bf16 and of 8-bit integers, but not of f16.
  const char *emulate = std::getenv("TILEWRIGHT_EMULATE_AMX");
  const bool allTiles = wide && emulate && StringRef(emulate) == "1";
  host.shape.emulateAmx = allTiles || (wide && emulate && StringRef(emulate) == "bf16");
  host.shape.amx = host.shape.emulateAmx || (wide && sets.amxTile && sets.amxBf16);
  host.shape.bf16Dot = !host.shape.amx && wide && sets.avx512bf16 && machine->bf16DotFullRate;
  if (host.shape.amx || host.shape.bf16Dot) {
    host.shape.bf16Group = 2;
    host.shape.bf16Depth = host.shape.amx ? 32 : 2;
  }
  host.shape.amxF16 = allTiles || (wide && sets.amxTile && sets.amxFp16);
  host.shape.splitF16 = host.shape.amx && !host.shape.amxF16;
  if (host.shape.amx) {
    host.shape.f16Group = 2;
    host.shape.f16Depth = 32;
  }
  host.shape.amxInt8 = host.shape.emulateAmx || (wide && sets.amxTile && sets.amxInt8);
  if (host.shape.amxInt8 || (wide ? sets.avx512vnni : sets.avxvnni)) {
    host.shape.int8Group = 4;
    host.shape.int8Depth = host.shape.amxInt8 ? 64 : 4;
  }
  if (host.shape.emulateAmx)
    host.key += std::string("|emulated-amx=") + emulate;
  host.recordKey = host.key;
  host.key += "|l1=" + std::to_string(machine->l1dBytes) + "/" + std::to_string(machine->l1dWays) + "x" +
              std::to_string(machine->lineBytes) + "|" + printRates(host.shape.rates);
  return host;
}

llvm::Expected<std::string> printHost() {
  llvm::Expected<runtime::MachineDescription> machine = describe("");
  if (!machine)
    return machine.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "name: " << machine->name << "\nllvm: " << machine->llvmCpu << "\nfeatures: " << machine->features
     << "\nvector bytes: " << machine->vectorBytes << "\nL1d bytes: " << machine->l1dBytes << " (" << machine->l1dWays
     << " ways, lines of " << machine->lineBytes << " bytes)"
     << "\nL2 bytes: " << machine->l2Bytes << "\nL3 bytes: " << machine->l3Bytes << " for " << machine->l3Cpus
     << " CPUs\ncores: " << machine->physicalCores << " (" << machine->logicalCpus
     << " logical)\nbf16 tiles: " << (machine->sets.amxBf16 ? "yes" : "no")
     << "\nf16 tiles: " << (machine->sets.amxFp16 ? "yes" : "no")
     << "\nbf16 dot at full rate: " << (machine->bf16DotFullRate ? "yes" : "no")
     << "\nrates: " << printRates(llvm::cantFail(describeHost("")).shape.rates)
     << (machine->native && keptRates() ? " (measured)"
                                        : " (from the machine description; tilewright calibrate measures them)")
     << numberText("\nFMA peak, one thread: %.1f GFLOP/s\n", runtime::fmaPeak());
  return text;
}

HostPeaks measureHostPeaks(int threads) {
  runtime::MachinePeaks peaks = runtime::measurePeaks(threads);
  HostPeaks host{peaks.f32, peaks.bf16, peaks.int8, peaks.l1, peaks.l2, peaks.l3, peaks.dram};
  runtime::MachineDescription machine;
  std::string error;
  if (runtime::describeMachine(nullptr, machine, error))
    host.l2Bytes = machine.l2Bytes, host.l3Bytes = machine.l3Bytes;
  return host;
}

static OwningOpRef<ModuleOp> withoutPlan(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  OpBuilder builder(copy->getBodyRegion());
  for (Operation &op : module.getBody()->getOperations())
    if (!isa<plan::ProgramOp>(op))
      builder.clone(op);
  return copy;
}

static runtime::CodegenOptions codegenOptions(const Options &options) {
  runtime::CodegenOptions codegen;
  codegen.contract = options.rounding != "eager";
  return codegen;
}

/// Divides the kernels into modules of about equal size, one per thread, and compiles them in parallel.
static llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>> compileKernels(ModuleOp module,
                                                                                       const Options &options) {
  llvm::Expected<runtime::MachineDescription> machine = describe(options.cpu, options.portable);
  if (!machine)
    return machine.takeError();
  int threads = std::max(1, std::min(options.threads, machine->logicalCpus));
  std::vector<std::pair<size_t, LLVM::LLVMFuncOp>> kernels;
  SmallVector<Operation *> shared;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && !function.isExternal()) {
      size_t size = 0;
      function.walk([&](Operation *) { ++size; });
      kernels.push_back({size, function});
    } else if (!isa<plan::ProgramOp>(op)) {
      shared.push_back(&op);
    }
  }
  llvm::sort(kernels, [](auto &a, auto &b) { return a.first > b.first; });
  std::vector<OwningOpRef<ModuleOp>> parts;
  std::vector<size_t> load(threads, 0);
  for (int i = 0; i < threads; ++i) {
    parts.push_back(ModuleOp::create(module.getLoc()));
    OpBuilder builder(parts.back()->getBodyRegion());
    for (Operation *op : shared)
      builder.clone(*op);
  }
  for (auto &[size, function] : kernels) {
    size_t part = std::min_element(load.begin(), load.end()) - load.begin();
    load[part] += size;
    OpBuilder::atBlockEnd(parts[part]->getBody()).clone(*function);
  }
  std::vector<runtime::ModuleMaker> makers;
  for (auto &part : parts)
    makers.push_back(
        [module = part.get()](llvm::LLVMContext &context) -> llvm::Expected<std::unique_ptr<llvm::Module>> {
          std::unique_ptr<llvm::Module> made =
              translateModuleToLLVMIR(module, context, "kernels", /*disableVerification=*/true);
          if (!made)
            return llvm::createStringError("a kernel cannot be translated to LLVM IR");
          return made;
        });
  return runtime::compileInParallel(std::move(makers), *machine, threads, codegenOptions(options));
}

/// Returns a line per kernel with a hash of the kernel's code, the machine and the option `rounding`. Programs whose
/// packing kernels have equal hashes share packed weights. The line is empty for kernels that `once` steps do not call,
/// and for kernels that refer to other symbols. Returns an empty string if the machine cannot be described.
static std::string nameKernels(ModuleOp module, const plan::Plan &plan, const Options &options) {
  llvm::Expected<HostMachine> host = describeHost(options.cpu);
  if (!host) {
    llvm::consumeError(host.takeError());
    return "";
  }
  std::vector<bool> packs(plan.kernels.size(), false);
  for (const plan::Step &step : plan.once)
    if (step.kind == plan::Step::Kind::Launch)
      packs[step.callee] = true;
  std::string names;
  for (auto [name, wanted] : llvm::zip_equal(plan.kernels, packs)) {
    auto function = wanted ? module.lookupSymbol<LLVM::LLVMFuncOp>(name) : LLVM::LLVMFuncOp();
    if (function && !function.walk([](LLVM::AddressOfOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
      std::string text = host->key + "|" + options.rounding + "|";
      llvm::raw_string_ostream stream(text);
      function->print(stream, OpPrintingFlags().useLocalScope());
      size_t at = text.find("@" + name + "("); // position of the definition: kernels do not call themselves
      if (at != std::string::npos)
        text.erase(at, name.size() + 1);
      names += llvm::toHex(llvm::BLAKE3::hash<16>(llvm::arrayRefFromStringRef(text)));
    }
    names += "\n";
  }
  return names;
}

llvm::Expected<std::string> emitHostArtifact(ModuleOp module, const Options &options) {
  llvm::Expected<plan::Plan> plan = planOf(module);
  if (!plan)
    return plan.takeError();
  std::string names = nameKernels(module, *plan, options);
  llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>> objects = compileKernels(module, options);
  if (!objects)
    return objects.takeError();
  std::vector<uint8_t> image = plan::serialize(*plan);
  HostArtifact parts{StringRef(reinterpret_cast<const char *>(image.data()), image.size()), names, {}};
  for (auto &object : *objects)
    parts.objects.push_back(object->getBuffer());
  return packHostArtifact(parts);
}

llvm::Expected<std::string> printHostAssembly(ModuleOp module, const Options &options) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(withoutPlan(module).get(), context);
  if (!translated)
    return llvm::createStringError("the module cannot be translated to LLVM IR");
  llvm::Expected<runtime::MachineDescription> machine = describe(options.cpu);
  if (!machine)
    return machine.takeError();
  runtime::CodegenOptions codegen = codegenOptions(options);
  auto target = runtime::createTargetMachine(*machine, codegen);
  if (!target)
    return target.takeError();
  return runtime::compileToAssembly(std::move(translated), **target, codegen);
}

llvm::Expected<std::string> printLLVM(ModuleOp module) {
  llvm::LLVMContext context;
  std::string problem;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) { problem = diagnostic.str(); });
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(withoutPlan(module).get(), context);
  if (!translated)
    return llvm::createStringError("this target has no LLVM IR: " + problem);
  std::string text;
  llvm::raw_string_ostream(text) << *translated;
  return text;
}

llvm::Expected<std::shared_ptr<Program>> loadHostArtifact(llvm::StringRef artifact, const Options &options) {
  llvm::Expected<runtime::MachineDescription> machine = describe(options.cpu);
  if (!machine)
    return machine.takeError();
  if (!machine->runsHere)
    return llvm::createStringError("code for %s does not run on this CPU", machine->name.c_str());
  if (machine->sets.amxTile && !runtime::requestAmxPermission())
    return llvm::createStringError("the system does not grant AMX; set TILEWRIGHT_CPU=x86-64-v4");
  llvm::Expected<HostArtifact> parts = readHostArtifact(artifact);
  if (!parts)
    return parts.takeError();
  llvm::Expected<plan::Plan> plan = planOf(*parts);
  if (!plan)
    return plan.takeError();
  llvm::Expected<std::unique_ptr<runtime::Jit>> jit = runtime::Jit::create(runtime::kernelSymbols());
  if (!jit)
    return jit.takeError();
  for (llvm::StringRef object : parts->objects)
    if (llvm::Error failed = (*jit)->addObject(llvm::MemoryBuffer::getMemBufferCopy(object, "kernels")))
      return std::move(failed);
  llvm::Expected<std::vector<void *>> functions = (*jit)->lookupAll(plan->kernels);
  if (!functions)
    return functions.takeError();
  std::vector<runtime::Kernel> kernels;
  StringRef names = parts->kernelNames;
  for (void *function : *functions) {
    auto [name, rest] = names.split('\n');
    kernels.push_back({reinterpret_cast<tilewright_kernel_fn>(function), name.str()});
    names = rest;
  }
  std::shared_ptr<void> code = std::shared_ptr<runtime::Jit>(std::move(*jit));
  std::string error;
  auto executable = runtime::Executable::create(std::move(*plan), std::move(kernels), {}, error, code);
  if (!executable)
    return llvm::createStringError("the compiled plan is invalid: %s", error.c_str());
  return std::make_shared<HostProgram>(std::move(executable));
}

} // namespace tilewright
