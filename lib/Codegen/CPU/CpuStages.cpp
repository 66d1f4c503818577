//===- CpuStages.cpp - the passes that turn kernels into code for a CPU -----------===//
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/Passes.h"
#include "tilewright/Pipelines.h"

using namespace mlir;

namespace tilewright {

void buildTiledStage(OpPassManager &pm, const MachineShape &machine, const ScheduleSources &sources) {
  ResolveLayoutsOptions layouts;
  layouts.vectorLanes = machine.lanes;
  layouts.bf16Group = machine.bf16Group;
  layouts.bf16Depth = machine.bf16Depth;
  layouts.f16Group = machine.f16Group;
  layouts.f16Depth = machine.f16Depth;
  layouts.splitF16 = machine.splitF16;
  layouts.int8Group = machine.int8Group;
  layouts.int8Depth = machine.int8Depth;
  pm.addPass(createResolveLayouts(layouts));
  auto ofMachine = [&](auto options) {
    options.threads = machine.threads;
    options.l1Bytes = machine.l1Bytes;
    options.l1Ways = machine.l1Ways;
    options.lineBytes = machine.lineBytes;
    options.cacheBytes = machine.l2Bytes;
    options.sharedBytes = machine.l3Bytes;
    options.rates = printRates(machine.rates);
    options.tileUnit = machine.amx;
    options.splitF16 = machine.splitF16;
    return options;
  };
  pm.addNestedPass<func::FuncOp>(createSelectSchedule(ofMachine(SelectScheduleOptions())));
  if (sources.stamp || sources.strict)
    pm.addNestedPass<func::FuncOp>(createDescribeSpaces(ofMachine(DescribeSpacesOptions())));
  if (sources.stamp || !sources.records.empty()) {
    ApplyRecordsOptions records;
    records.records = sources.records;
    records.machine = sources.machine;
    records.rates = sources.rates;
    records.strict = sources.strict;
    records.deterministic = sources.deterministic;
    records.stamp = sources.stamp;
    pm.addPass(createApplyRecords(records));
  }
  if (StringRef(sources.file).ends_with(".mlir"))
    pm.addPass(createApplyScripts({sources.file}));
  else if (!sources.file.empty())
    pm.addPass(createOverrideSchedules({sources.file}));
  pm.addNestedPass<func::FuncOp>(createApplySchedule());
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createMergeReductions());
}

void buildVectorStage(OpPassManager &pm, const MachineShape &machine) {
  pm.addPass(createBuildPlan());
  pm.addPass(createBufferizeKernels());
  auto &kernel = pm.nest<func::FuncOp>();
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(createFlattenGrid());
  ExpandAttentionOptions attention;
  attention.bf16Group = machine.bf16Group;
  attention.bf16Depth = machine.bf16Depth;
  attention.f16Group = machine.f16Group;
  attention.f16Depth = machine.f16Depth;
  kernel.addPass(createExpandAttention(attention));
  kernel.addPass(createExpandLoops());
  kernel.addPass(createPlaceScratch());
  kernel.addPass(memref::createFoldMemRefAliasOpsPass());
  VectorizeLoopsOptions loops;
  loops.lanes = machine.lanes;
  kernel.addPass(createVectorizeLoops(loops));
  kernel.addPass(createLowerIndexChecks());
  kernel.addPass(createCSEPass());
  pm.addPass(createFinishPlan());
}

void buildCpuStage(OpPassManager &pm, const MachineShape &machine) {
  ExpandContractionsOptions contractions;
  contractions.lanes = machine.lanes;
  contractions.registers = machine.registers;
  contractions.amx = machine.amx;
  contractions.amxF16 = machine.amxF16;
  contractions.splitF16 = machine.splitF16;
  contractions.amxInt8 = machine.amxInt8;
  pm.addNestedPass<func::FuncOp>(createExpandContractions(contractions));
  if (machine.emulateAmx)
    pm.addNestedPass<func::FuncOp>(createEmulateTiles());
  pm.addNestedPass<func::FuncOp>(createExpandFloat8());
  ExpandMathOptions mathFunctions;
  mathFunctions.avx512 = machine.lanes == 16;
  mathFunctions.bf16Denormals = true;
  pm.addNestedPass<func::FuncOp>(createExpandMath(mathFunctions));
  pm.addPass(createLowerKernelABI());
  auto &kernel = pm.nest<func::FuncOp>();
  kernel.addPass(memref::createExpandStridedMetadataPass());
  kernel.addPass(createLowerAffinePass());
  kernel.addPass(createSCFToControlFlowPass());
  pm.addPass(createLowerToLLVM());
}

} // namespace tilewright
