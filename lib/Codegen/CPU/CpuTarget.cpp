//===- CpuTarget.cpp - the cpu target -------------------------------------------------===//
//
// This target compiles for AVX-512, AMX and AVX2 machines. The machine description (CPUID, caches, the measured rate of
// vdpbf16ps) determines the vector width, the number of registers and the layouts of packed operands. LLVM compiles the
// kernels to object code in parallel.
//
//===----------------------------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "tilewright/HostCode.h"
#include "tilewright/Passes.h"
#include "tilewright/Target.h"

using namespace mlir;

namespace tilewright {
namespace cpu {
namespace {

class CpuTarget final : public Target {
public:
  StringRef name() const override { return "cpu"; }

  llvm::Error configure(Options &options) override {
    llvm::Expected<HostMachine> host = describeHost(options.cpu);
    if (!host)
      return host.takeError();
    if (!host->fma)
      return llvm::createStringError("the cpu target needs AVX2 and FMA, which %s does not have", host->name.c_str());
    options.cpu = host->name;
    if (options.threads <= 0)
      options.threads = host->threads;
    return llvm::Error::success();
  }

  bool canMeasure(const Options &) override { return true; }
  std::string machineKey(const Options &options) override {
    return llvm::cantFail(describeHost(options.cpu)).key + "|" + std::to_string(options.threads);
  }

  std::string recordKey(const Options &options) override {
    return llvm::cantFail(describeHost(options.cpu)).recordKey + "|" + std::to_string(options.threads);
  }
  std::string ratesKey(const Options &options) override {
    return printRates(llvm::cantFail(describeHost(options.cpu)).shape.rates);
  }

  void buildGraph(OpPassManager &pm, const Options &options) override {
    pm.addNestedPass<func::FuncOp>(createPackElements());
    if (options.rounding != "eager")
      pm.addNestedPass<func::FuncOp>(createMatchAttention());
    pm.addNestedPass<func::FuncOp>(createWidenFloat8({/*to=*/"bf16"}));
    pm.addNestedPass<func::FuncOp>(createSumRowProducts());
  }
  KernelLimits kernelLimits(const Options &) const override {
    KernelLimits limits;
    limits.readSlices = limits.computePieces = limits.scatterPoolGradients = true;
    return limits;
  }
  void buildTiled(OpPassManager &pm, const Options &options) override {
    ScheduleSources sources;
    sources.file = options.scheduleFile;
    sources.records = options.tune == "records" || options.tune == "strict" ? options.records : "";
    sources.machine = recordKey(options);
    sources.rates = ratesKey(options);
    sources.strict = options.tune == "strict";
    sources.deterministic = options.deterministic;
    sources.stamp = options.tune == "stamp";
    buildTiledStage(pm, shapeOf(options), sources);
  }
  void buildVector(OpPassManager &pm, const Options &options) override { buildVectorStage(pm, shapeOf(options)); }
  void buildLowering(OpPassManager &pm, const Options &options) override { buildCpuStage(pm, shapeOf(options)); }

  llvm::Expected<std::string> emit(ModuleOp module, const Options &options) override {
    return emitHostArtifact(module, options);
  }
  llvm::Expected<std::shared_ptr<Program>> load(StringRef artifact, const Options &options) override {
    return loadHostArtifact(artifact, options);
  }
  llvm::Expected<std::string> print(ModuleOp module, const Options &options) override {
    return printHostAssembly(module, options);
  }

private:
  /// Returns the shape of the machine `options.cpu`, whose name configure() has checked. A positive `options.threads`
  /// replaces the machine's number of threads.
  static MachineShape shapeOf(const Options &options) {
    MachineShape shape = llvm::cantFail(describeHost(options.cpu)).shape;
    if (options.threads > 0)
      shape.threads = options.threads;
    return shape;
  }
};
} // namespace
} // namespace cpu

std::unique_ptr<Target> createCpuTarget() { return std::make_unique<cpu::CpuTarget>(); }

} // namespace tilewright
