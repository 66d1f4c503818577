//===- CudaTarget.cpp - the target cuda ---------------------------------------------------===//
//
// This target compiles for NVIDIA GPUs through PTX. It uses the kernels of the structured stage and the plan, which all
// targets share. A schedule maps each kernel to a grid, and the code of one thread is emitted according to the schedule
// (LowerToThreads.cpp). LLVM's NVPTX backend generates PTX in this process. See docs/decisions/0028-cuda.md and
// docs/targets/cuda.md.
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/Schedule.h"
#include "lib/Codegen/NVPTX/CudaOptions.h"
#include "lib/Codegen/NVPTX/EmitPtx.h"
#include "lib/Codegen/NVPTX/NameEntries.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/DeviceCode.h"
#include "tilewright/Passes.h"
#include "tilewright/Target.h"

using namespace mlir;

namespace tilewright {
namespace cuda {
namespace {

DeviceKernel describe(LLVM::LLVMFuncOp function, int64_t threads) {
  DeviceKernel kernel{function.getName().str(), threads, 0, {}};
  if (auto shared = function->getAttrOfType<IntegerAttr>("tw_cuda.shared"))
    kernel.shared = shared.getInt();
  if (auto maps = function->getAttrOfType<ArrayAttr>("tw_cuda.maps"))
    for (auto map : maps.getAsRange<StringAttr>())
      TensorMapRecipe::read(map.getValue(), kernel.maps.emplace_back());
  return kernel;
}

/// Simplifies functions that have no schedule. Kernels that have a schedule are not changed: the tuner runs the passes
/// of buildTiled() twice, and computes the keys of records from the text of a kernel.
struct SimplifyUnscheduled : PassWrapper<SimplifyUnscheduled, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyUnscheduled)
  StringRef getArgument() const override { return "tw-cuda-simplify-unscheduled"; }
  void runOnOperation() override {
    if (getOperation()->hasAttr(scheduleAttrName))
      return;
    OpPassManager passes(func::FuncOp::getOperationName());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    if (failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }
};

class CudaTarget final : public Target {
public:
  StringRef name() const override { return "cuda"; }
  bool hasDevices() const override { return true; }

  SmallVector<TargetOption> options() const override { return optionsOf(cudaOptions()); }

  llvm::Error configure(Options &options) override {
    CudaOptions own = readCuda(options);
    if (llvm::Error unknown = checkDevice(own.device))
      return unknown;
    if (own.graph && own.device == "emulated")
      return llvm::createStringError("device 'emulated' of target 'cuda' does not support CUDA graphs; remove the "
                                     "option cuda_graph (--cuda-graph)");
    if (own.arch.empty() || own.arch == tf32Suffix) {
      const int capability = own.device == "emulated" ? 0 : deviceCapability(own.device);
      own.arch = archOfCapability(capability).str() + own.arch;
    }
    llvm::Expected<Arch> arch = findArch(own.arch);
    if (!arch)
      return arch.takeError();
    writeOptions(cudaOptions(), own, options.own);
    if (StringRef(options.scheduleFile).ends_with(".mlir"))
      return llvm::createStringError(
          "target 'cuda' reads schedule files in JSON only; schedule scripts (.mlir) are supported by target 'cpu'");
    if (options.threads <= 0)
      options.threads = 1;
    return llvm::Error::success();
  }

  /// All devices of an architecture, including the emulated one, run the same PTX.
  std::string machineKey(const Options &options) override {
    const CudaOptions own = readCuda(options);
    return own.arch + (own.tf32Convolutions ? " with tf32 convolutions" : "") + (own.f32Fma ? " with f32 fma" : "");
  }
  /// The measured times depend on the chip. The key does not contain the version of the NVIDIA driver, because records
  /// of an earlier version are better than no records.
  std::string recordKey(const Options &options) override {
    const CudaOptions own = readCuda(options);
    const std::string chip = deviceName(own.device);
    return chip.empty() ? own.arch : chip + ", " + own.arch;
  }
  bool canMeasure(const Options &options) override {
    const CudaOptions own = readCuda(options);
    const Arch arch = llvm::cantFail(findArch(own.arch));
    return own.device != "emulated" && runsOn(arch.name, deviceCapability(own.device));
  }

  void buildGraph(OpPassManager &pm, const Options &options) override {
    pm.addNestedPass<func::FuncOp>(createPackElements());
    if (options.rounding != "eager")
      pm.addNestedPass<func::FuncOp>(createMatchAttention({/*tensorCoresOnly=*/true}));
    if (!hasFloat8(options))
      pm.addNestedPass<func::FuncOp>(createWidenFloat8({/*to=*/"f16"}));
  }

  /// Limits kernels to one product. A schedule for tensor cores supports only one product, because its sums take most
  /// registers of a thread. If a kernel had several products, each thread would compute one element. JoinRows.cpp later
  /// fuses a norm into the kernel of the product before the norm, if a tile can have whole rows. SplitSums.cpp splits
  /// products, because the number of parts depends on the GPU.
  KernelLimits kernelLimits(const Options &options) const override {
    return {/*mostProducts=*/1,
            /*columnsToSpan=*/0,
            /*readSlices=*/false,
            /*computePieces=*/false,
            /*fuseSingleAttention=*/false,
            /*scatterPoolGradients=*/false,
            /*splitProducts=*/false,
            /*tf32Convolutions=*/readCuda(options).tf32Convolutions,
            /*attentionDelta=*/true};
  }

  KeyWorkers keyWorkers(const Options &options) const override {
    const Arch arch = llvm::cantFail(findArch(readCuda(options).arch));
    return {/*threads=*/0, /*blocks=*/arch.multiprocessors * 3 / 2};
  }

  void buildTiled(OpPassManager &pm, const Options &options) override {
    pm.addNestedPass<func::FuncOp>(std::make_unique<SimplifyUnscheduled>());
    SelectCudaScheduleOptions select;
    select.arch = readCuda(options).arch;
    select.f32Fma = readCuda(options).f32Fma;
    pm.addPass(createSelectCudaSchedule(select));
    const bool stamps = options.tune == "stamp", strict = options.tune == "strict";
    if (stamps || strict) {
      DescribeCudaSpacesOptions spaces;
      spaces.arch = readCuda(options).arch;
      pm.addNestedPass<func::FuncOp>(createDescribeCudaSpaces(spaces));
    }
    ApplyRecordsOptions records;
    if (strict || options.tune == "records")
      records.records = options.records;
    if (stamps || !records.records.empty()) {
      records.target = name().str();
      records.machine = recordKey(options);
      records.strict = strict;
      records.deterministic = options.deterministic;
      records.stamp = stamps;
      pm.addPass(createApplyRecords(records));
    }
    if (!options.scheduleFile.empty())
      pm.addPass(createOverrideCudaSchedules({options.scheduleFile, readCuda(options).arch}));
  }

  bool keepsScheduledKernels() const override { return true; }

  SmallVector<std::string> dialectsAfter(StringRef stage) const override {
    if (stage == "vector")
      return {"tw_plan", "func", "scf", "affine", "arith", "math", "ub", "llvm", "nvvm"};
    if (stage == "target")
      return {"tw_plan", "llvm", "nvvm"};
    return {};
  }
  void buildVector(OpPassManager &pm, const Options &) override {
    pm.addPass(createBuildPlan());
    pm.addPass(createLowerToThreads());
    // The emitted code has many repeated expressions; CSE removes most of them before the patterns run.
    auto &kernel = pm.nest<func::FuncOp>();
    kernel.addPass(createCSEPass());
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(false); // bottom-up is faster, with the same result
    kernel.addPass(createCanonicalizerPass(config));
    kernel.addPass(createCSEPass());
    pm.addPass(createFinishPlan());
  }

  void buildLowering(OpPassManager &pm, const Options &options) override {
    if (hasFloat8(options))
      pm.addNestedPass<func::FuncOp>(createConvertFloat8());
    pm.addNestedPass<func::FuncOp>(createExpandFloat8());
    pm.addNestedPass<func::FuncOp>(createExpandMath());
    pm.addPass(createLowerToNvvm());
  }

  llvm::Expected<std::string> emit(ModuleOp module, const Options &options) override {
    nameKernels(module, options);
    // A cached artifact must not contain locations, because its key does not contain them.
    llvm::Expected<std::string> ptx = ptxOf(module, options, /*locations=*/false);
    if (!ptx)
      return ptx.takeError();
    std::vector<DeviceKernel> kernels;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (auto threads = function->getAttrOfType<IntegerAttr>("tw_cuda.threads"))
        kernels.push_back(describe(function, threads.getInt()));
    return emitDeviceArtifact(module, *ptx, kernels);
  }

  llvm::Error prepareToLoad(StringRef artifact, const Options &options) override {
    return assembleDeviceArtifact(artifact, {readCuda(options).device, /*graph=*/false, options.cache});
  }
  llvm::Expected<std::shared_ptr<Program>> load(StringRef artifact, const Options &options) override {
    const CudaOptions own = readCuda(options);
    return loadDeviceArtifact(artifact, {own.device, own.graph, options.cache});
  }

  llvm::Expected<std::string> print(ModuleOp module, const Options &options) override {
    nameKernels(module, options);
    return ptxOf(module, options, /*locations=*/true);
  }

private:
  /// Names the kernels, except in programs that the tuner measures. The tuner compiles with tune = "off", and
  /// identifies kernels of a measured program by their names in the stages before PTX.
  static void nameKernels(ModuleOp module, const Options &options) {
    if (options.tune != "off")
      nameEntries(module);
  }

  static bool hasFloat8(const Options &options) { return llvm::cantFail(findArch(readCuda(options).arch)).float8; }

  static llvm::Expected<std::string> ptxOf(ModuleOp module, const Options &options, bool locations) {
    Arch arch = llvm::cantFail(findArch(readCuda(options).arch));
    llvm::Expected<std::string> ptx = emitPtx(module, arch, locations);
    if (!ptx)
      return ptx;
    std::string comments;
    if (!arch.note.empty())
      comments += ("// " + arch.note + "\n").str();
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (auto schedule = schedule::scheduleOf(function))
        comments += ("// " + function.getName() + ": " + schedule.describe() + "\n").str();
    return comments + *ptx;
  }
};
} // namespace
} // namespace cuda

std::unique_ptr<Target> createCudaTarget() { return std::make_unique<cuda::CudaTarget>(); }

} // namespace tilewright
