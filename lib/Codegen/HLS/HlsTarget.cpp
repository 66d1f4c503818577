//===- HlsTarget.cpp - the hls target: C++ for a vendor's high-level synthesis -----------------===//
//
// This target writes files instead of machine code: C++ with one function per task and verified directives
// (dialects/HLS), a test bench and a report, and with --rtl also Verilog. docs/decisions/0027-hls-designs.md states the
// reasons for this form.
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/DesignFiles.h"
#include "lib/Codegen/HLS/HlsOptions.h"
#include "lib/Codegen/HLS/Names.h"
#include "lib/Codegen/HLS/PrintCpp.h"
#include "lib/Codegen/HLS/Rtl/PrintVerilog.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/BudgetError.h"
#include "tilewright/Passes.h"
#include "tilewright/SourceLine.h"
#include "tilewright/Target.h"

using namespace mlir;

namespace tilewright {
namespace hls {
namespace {

class HlsTarget final : public Target {
public:
  StringRef name() const override { return "hls"; }

  SmallVector<TargetOption> options() const override { return optionsOf(hlsOptions()); }

  llvm::Error configure(Options &options) override {
    HlsOptions own = readHls(options);
    if (own.part.empty())
      own.part = "xcu280";
    llvm::Expected<const Part *> part = findPart(own.part);
    if (!part)
      return part.takeError();
    if (own.rtl && !own.ports.empty())
      return llvm::createStringError("--rtl supports only ports that are memories; remove --port or --rtl");
    writeOptions(hlsOptions(), own, options.own);
    options.cache = false;
    return readBudget(own.budget, **part).takeError();
  }

  std::string machineKey(const Options &options) override {
    const HlsOptions own = readHls(options);
    return own.part + " " + own.budget + " " + own.weights + " " + own.ports;
  }

  void buildTiled(OpPassManager &pm, const Options &options) override {
    const HlsOptions own = readHls(options);
    pm.addNestedPass<func::FuncOp>(createHlsWindowLoops());
    pm.addNestedPass<func::FuncOp>(createDecomposeTile({.divisors = true}));
    pm.addNestedPass<func::FuncOp>(createCSEPass());
    pm.addPass(createHlsEmbedWeights({own.part, own.budget, own.weights}));
    pm.addPass(createHlsAcceptModel());
  }

  SmallVector<std::string> dialectsAfter(StringRef stage) const override {
    if (stage == "vector")
      return {"tw_plan", "func", "linalg", "scf", "affine", "arith", "math", "memref"};
    if (stage == "target")
      return {"tw_hls", "func", "scf", "affine", "arith", "math", "memref"};
    return {};
  }
  void buildVector(OpPassManager &pm, const Options &) override {
    pm.addPass(createBuildPlan());
    pm.addPass(createBufferizeKernels());
    pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
    pm.addNestedPass<func::FuncOp>(createCSEPass());
  }

  void buildLowering(OpPassManager &pm, const Options &options) override {
    const HlsOptions own = readHls(options);
    HlsSelectSchedulesOptions schedules;
    schedules.part = own.part;
    schedules.budget = own.budget;
    schedules.blocks = !own.rtl; // the Verilog printer does not support queues of blocks
    schedules.fabric = true;
    schedules.shares = !own.rtl;
    pm.addPass(createHlsSplitKernels());
    pm.addPass(createHlsSelectSchedules(schedules));
    auto &kernel = pm.nest<func::FuncOp>();
    kernel.addPass(createHlsApplySchedules());
    kernel.addPass(memref::createFoldMemRefAliasOpsPass());
    pm.addPass(createHlsBuildDesign());
    pm.addPass(createHlsPortProtocols({own.ports}));
    pm.addPass(createHlsStreamChannels());
    pm.addPass(createHlsPlaceMemories({own.part, own.budget}));
  }

  llvm::Expected<std::string> emit(ModuleOp, const Options &) override { return noProgram(); }
  llvm::Expected<std::shared_ptr<Program>> load(StringRef, const Options &) override { return noProgram(); }

  llvm::Expected<std::string> print(ModuleOp module, const Options &options) override {
    llvm::Expected<func::FuncOp> top = topOf(module);
    if (!top)
      return top.takeError();
    const HlsOptions own = readHls(options);
    if (llvm::Error over = overBudget(estimateDesign(*top, !own.rtl), own))
      return over;
    return printKernels(*top);
  }

  bool makesFiles() const override { return true; }

  llvm::Expected<std::vector<DesignFile>> files(ModuleOp module, const Options &options) override {
    llvm::Expected<func::FuncOp> top = topOf(module);
    if (!top)
      return top.takeError();
    llvm::Expected<std::string> kernels = printKernels(*top);
    if (!kernels)
      return kernels.takeError();
    const HlsOptions own = readHls(options);
    const Part &part = *llvm::cantFail(findPart(own.part));
    const Resources budget = llvm::cantFail(readBudget(own.budget, part));
    DesignEstimate design = estimateDesign(*top, !own.rtl);
    if (llvm::Error over = overBudget(design, own))
      return over;
    std::vector<DesignFile> files = checkHeaders();
    files.push_back({"kernel.cpp", std::move(*kernels)});
    files.push_back({"kernel.h", printHeader(*top)});
    if (std::string weights = printWeights(*top); !weights.empty())
      files.push_back({weightsFile.str(), std::move(weights)});
    files.push_back({"test_bench.cpp", printBench(*top)});
    files.push_back({"check/dataflow_check.cpp", printDataflowCheck(*top)});
    files.push_back({"run_hls.tcl", printScript(part.device)});
    if (own.rtl) {
      llvm::Expected<Verilog> verilog = printVerilog(*top);
      if (!verilog)
        return verilog.takeError();
      design.rtl = RtlEstimate{verilog->lut, verilog->ff};
      files.push_back({"rtl/model.v", std::move(verilog->model)});
      files.push_back({"rtl/test_bench.v", std::move(verilog->bench)});
    }
    files.push_back({"report.md", printReport(design, part, budget) + printFixed(module)});
    files.push_back({"report.json", printJson(design, part, budget, module)});
    return files;
  }

private:
  static llvm::Error noProgram() {
    return llvm::createStringError("target 'hls' generates C++ for a vendor's tool, not a program that can be called; "
                                   "run tilewright compile model.pt2 --target=hls -o folder/");
  }

  /// Returns an error if the design needs more DSP slices or block memories than the budget has.
  static llvm::Error overBudget(const DesignEstimate &design, const HlsOptions &own) {
    const Resources budget = llvm::cantFail(readBudget(own.budget, *llvm::cantFail(findPart(own.part))));
    if (design.total.dsp > budget.dsp) { // loops without a schedule can exceed the budget
      const std::string needed = std::to_string(design.total.dsp);
      auto error = std::make_unique<BudgetError>("the budget cannot be met: this design needs dsp=" + needed +
                                                 ", and the budget has dsp=" + std::to_string(budget.dsp) +
                                                 "; the smallest sufficient budget is --budget dsp=" + needed);
      error->neededDsp = design.total.dsp;
      return llvm::Error(std::move(error));
    }
    if (design.total.bram > budget.bram && design.romBram > budget.bram / 2)
      return llvm::createStringError(
          "the budget cannot be met: this design needs bram=%lld (18 kbit each), %lld of them for weights in ROMs, "
          "and the budget has bram=%lld; --weights=external replaces the ROMs by ports",
          (long long)design.total.bram, (long long)design.romBram, (long long)budget.bram);
    if (design.total.bram > budget.bram)
      return llvm::createStringError(
          "the budget cannot be met: the arrays of this model need bram=%lld (18 kbit each), "
          "and the budget has bram=%lld and uram=%lld; fewer multipliers need fewer banks: lower dsp, "
          "which is %lld here",
          (long long)design.total.bram, (long long)budget.bram, (long long)budget.uram, (long long)design.total.dsp);
    return llvm::Error::success();
  }

  /// Verifies a design, even if the session's verifier is off, and returns its top function.
  static llvm::Expected<func::FuncOp> topOf(ModuleOp module) {
    std::string parts;
    // If the memory space of a view differs from that of its array, the start of the view is known only at run time, so
    // the banks that it accesses are unknown.
    module.walk([&](memref::SubViewOp view) {
      if (!parts.empty() || view.getSourceType().getMemorySpace() == view.getType().getMemorySpace())
        return;
      const std::string line = sourceLineAfter(view.getLoc());
      parts = line.empty() ? " " : line;
    });
    if (!parts.empty())
      return llvm::createStringError(
          "the target hls does not support this model: a slice has a start that is known only at run time" +
          StringRef(parts).rtrim());
    if (failed(verify(module)))
      return llvm::createStringError("the design does not pass its verifier; this is a bug in Tilewright");
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(topAttrName))
        return function;
    return llvm::createStringError("the module has no design: no function with tw_hls.top");
  }
};

} // namespace
} // namespace hls

std::unique_ptr<Target> createHlsTarget() { return std::make_unique<hls::HlsTarget>(); }

} // namespace tilewright
