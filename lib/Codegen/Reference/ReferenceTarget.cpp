//===- ReferenceTarget.cpp - the reference target: plain loops, f64 accumulation ------===//
//
// This target is slow, and is used to check the other targets. It executes the kernels that the structured stage has
// formed, and defines their semantics: every float between a kernel's operands and its results is f64, every op is a
// plain loop in the order of its indices, and scalar functions are those of the C library. It has no schedules, packing
// or vectors. It shares the plan, the passes that lower loops to the kernel ABI, and the loader with the target cpu.
//
// The target `plain` executes the same loops without widening, so kernels compute in the dtypes of the model. The
// errors of other targets are compared with the errors of `plain` (lib/Driver/CompareKernels.h).
//
//===----------------------------------------------------------------------===//
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/HostCode.h"
#include "tilewright/Passes.h"
#include "tilewright/Target.h"

using namespace mlir;

namespace tilewright {
namespace reference {
namespace {

class ReferenceTarget final : public Target {
public:
  explicit ReferenceTarget(bool widen) : widen(widen) {}

  StringRef name() const override { return widen ? "reference" : "plain"; }

  llvm::Error configure(Options &options) override {
    llvm::Expected<HostMachine> host = describeHost(options.cpu);
    if (!host)
      return host.takeError();
    options.cpu = host->name;
    if (options.threads <= 0)
      options.threads = host->threads;
    return llvm::Error::success();
  }

  std::string machineKey(const Options &options) override { return llvm::cantFail(describeHost(options.cpu)).key; }

  void buildGraph(OpPassManager &pm, const Options &) override { pm.addNestedPass<func::FuncOp>(createPackElements()); }

  /// Kernels are not divided into tasks; each runs on one thread.
  void buildTiled(OpPassManager &pm, const Options &) override {
    auto &kernel = pm.nest<func::FuncOp>();
    kernel.addPass(createDecomposeTile());
    if (widen)
      kernel.addPass(createWidenFloats({/*kernelsOnly=*/true}));
    kernel.addPass(createCSEPass());
  }

  void buildVector(OpPassManager &pm, const Options &) override {
    pm.addPass(createBuildPlan());
    pm.addPass(createBufferizeKernels());
    auto &kernel = pm.nest<func::FuncOp>();
    kernel.addPass(createConvertLinalgToLoopsPass());
    kernel.addPass(createCanonicalizerPass());
    kernel.addPass(createCSEPass());
    kernel.addPass(createFlattenGrid());
    kernel.addPass(createPlaceScratch());
    kernel.addPass(createLowerIndexChecks());
    pm.addPass(createFinishPlan());
  }

  void buildLowering(OpPassManager &pm, const Options &) override {
    pm.addPass(createKeepRoundings());
    pm.addPass(createExpandFloat8());
    pm.addPass(createLowerKernelABI());
    auto &kernel = pm.nest<func::FuncOp>();
    kernel.addPass(createSplitReshapes());
    kernel.addPass(memref::createExpandStridedMetadataPass());
    kernel.addPass(createLowerAffinePass());
    kernel.addPass(createSCFToControlFlowPass());
    pm.addPass(createLowerToLLVM());
  }

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
  bool widen;
};
} // namespace
} // namespace reference

std::unique_ptr<Target> createReferenceTarget() { return std::make_unique<reference::ReferenceTarget>(/*widen=*/true); }
std::unique_ptr<Target> createPlainTarget() { return std::make_unique<reference::ReferenceTarget>(/*widen=*/false); }

} // namespace tilewright
