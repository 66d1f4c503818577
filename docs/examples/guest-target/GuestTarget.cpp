//===- GuestTarget.cpp - a plug-in target like cpu, with smaller tasks -----------------------===//
//
// The target uses Tilewright's pipelines and adds one pass between the selection of a schedule and its application:
//
//   attributes {tw.schedule = #tw_cpu.schedule<tiles = [128, 48]>}   ->   #tw_cpu.schedule<tiles = [16, 48]>
//
// Test: test/Python/test_guest_target.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/HostCode.h"
#include "tilewright/Passes.h"
#include "tilewright/Pipelines.h"
#include "tilewright/Target.h"

using namespace mlir;

namespace {

constexpr int64_t mostRows = 16; ///< largest number of rows in a task, if the option is not given

/// The options of this target, and their declarations.
struct GuestOptions {
  std::string taskRows;
};
const tilewright::OptionField<GuestOptions> optionTable[] = {
    {{"task_rows", tilewright::TargetOption::Text, "number", "largest number of rows in a task (default: 16)",
      tilewright::InCompile | tilewright::InRun | tilewright::InPython},
     &GuestOptions::taskRows},
};

int64_t rowsOf(const tilewright::Options &options) {
  int64_t rows = mostRows;
  const std::string given = tilewright::readOptions<GuestOptions>(optionTable, options.own).taskRows;
  return given.empty() ? mostRows : StringRef(given).getAsInteger(10, rows) ? 0 : rows;
}

/// Limits the outermost tile size of kernels whose schedules tile two or more dimensions.
struct CutTasks : PassWrapper<CutTasks, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CutTasks)

  explicit CutTasks(int64_t rows) : rows(rows) {}

  StringRef getArgument() const override { return "guest-cut-tasks"; }

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    auto selected = kernel->getAttrOfType<tilewright::schedule::CpuScheduleAttr>(tilewright::scheduleAttrName);
    if (!selected || selected.getTiles().size() < 2 || selected.getTiles()[0] <= rows)
      return;
    SmallVector<int64_t> smaller(selected.getTiles().asArrayRef());
    smaller[0] = rows;
    kernel->setAttr(tilewright::scheduleAttrName, selected.withTiles(smaller));
  }

  int64_t rows;
};

class GuestTarget final : public tilewright::Target {
public:
  StringRef name() const override { return "guest"; }

  SmallVector<tilewright::TargetOption> options() const override {
    return tilewright::optionsOf<GuestOptions>(optionTable);
  }

  llvm::Error configure(tilewright::Options &options) override {
    llvm::Expected<tilewright::HostMachine> host = tilewright::describeHost(options.cpu);
    if (!host)
      return host.takeError();
    if (!host->fma)
      return llvm::createStringError("the guest target needs AVX2 and FMA");
    if (rowsOf(options) < 1)
      return llvm::createStringError("task_rows is a positive number, not '" + options.own.get("task_rows") + "'");
    options.cpu = host->name;
    if (options.threads <= 0)
      options.threads = host->threads;
    return llvm::Error::success();
  }

  /// Returns the part of the cache key that depends on the machine and the options. The suffix prevents the reuse of
  /// cached code of the target `cpu`.
  std::string machineKey(const tilewright::Options &options) override {
    return llvm::cantFail(tilewright::describeHost(options.cpu)).key + "|guest 1|" + std::to_string(options.threads) +
           "|" + std::to_string(rowsOf(options));
  }

  void buildTiled(OpPassManager &pm, const tilewright::Options &options) override {
    tilewright::MachineShape machine = shapeOf(options);
    tilewright::ResolveLayoutsOptions layouts;
    layouts.vectorLanes = machine.lanes;
    layouts.bf16Group = machine.bf16Group;
    layouts.bf16Depth = machine.bf16Depth;
    layouts.f16Group = machine.f16Group;
    layouts.f16Depth = machine.f16Depth;
    layouts.splitF16 = machine.splitF16;
    pm.addPass(tilewright::createResolveLayouts(layouts));
    auto &kernel = pm.nest<func::FuncOp>();
    kernel.addPass(tilewright::createSelectSchedule());
    kernel.addPass(std::make_unique<CutTasks>(rowsOf(options)));
    kernel.addPass(tilewright::createApplySchedule());
    kernel.addPass(createCSEPass());
  }
  void buildVector(OpPassManager &pm, const tilewright::Options &options) override {
    tilewright::buildVectorStage(pm, shapeOf(options));
  }
  void buildLowering(OpPassManager &pm, const tilewright::Options &options) override {
    tilewright::buildCpuStage(pm, shapeOf(options));
  }

  llvm::Expected<std::string> emit(ModuleOp module, const tilewright::Options &options) override {
    return tilewright::emitHostArtifact(module, options);
  }
  llvm::Expected<std::shared_ptr<tilewright::Program>> load(StringRef artifact,
                                                            const tilewright::Options &options) override {
    return tilewright::loadHostArtifact(artifact, options);
  }
  llvm::Expected<std::string> print(ModuleOp module, const tilewright::Options &options) override {
    return tilewright::printHostAssembly(module, options);
  }

private:
  static tilewright::MachineShape shapeOf(const tilewright::Options &options) {
    return llvm::cantFail(tilewright::describeHost(options.cpu)).shape;
  }
};

} // namespace

extern "C" void tilewrightRegisterTarget() { tilewright::registerTarget(std::make_unique<GuestTarget>()); }
