//===- StageIR.cpp - check that IR is valid at the end of a stage -----------===//
//
// checkStageIR() checks IR that was saved, possibly edited, and is compiled further (Options::startAt). Passes rely on
// the results of earlier stages. Therefore IR of another stage is rejected before a pass processes it, and the error
// names its stage.
//
// Tests: test/Tools/start-at.mlir, test/Unit/Driver/StageIRTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Verify/StageIR.h"
#include "dialects/Plan/PlanDialect.h"
#include "dialects/Schedule/Schedule.h"
#include "lib/Verify/StageDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "tilewright/Pipelines.h"
#include "tilewright/SourceLine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {
namespace {

/// Rejects constants whose elements were elided when the IR was printed.
llvm::Error checkConstants(ModuleOp module) {
  Operation *emptied = nullptr;
  module->walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](DenseResourceElementsAttr constant) {
      if (!constant.getRawHandle().getBlob())
        emptied = op;
    });
    return emptied ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!emptied)
    return llvm::Error::success();
  return llvm::createStringError("%sthe elements of this constant were left out when the IR was saved: save it with "
                                 "--whole-constants",
                                 sourceLineBefore(emptied->getLoc()).c_str());
}

/// Checks that every schedule is a typed attribute. Older revisions of Tilewright stored a schedule as a dictionary,
/// which passes do not read.
llvm::Error checkSchedules(ModuleOp module) {
  Operation *other = nullptr;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    Attribute attribute = op->getAttr(scheduleAttrName);
    other = !attribute || isa<schedule::ScheduleAttrInterface>(attribute) ? nullptr : op;
    return other ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!other)
    return llvm::Error::success();
  std::string text;
  llvm::raw_string_ostream(text) << other->getAttr(scheduleAttrName);
  return llvm::createStringError("%stw.schedule of '%s' is %s, which is not a schedule such as #tw_cpu.schedule<...>: "
                                 "was this saved by an older version?",
                                 sourceLineBefore(other->getLoc()).c_str(),
                                 other->getName().getStringRef().str().c_str(), text.c_str());
}

/// Checks that the module contains @main or, from the vector stage on, a plan.
llvm::Error checkModel(ModuleOp module, const StageDialects &stage) {
  const bool planned = stage.has("tw_plan");
  if (planned ? !module.getOps<plan::ProgramOp>().empty() : module.lookupSymbol<func::FuncOp>("main") != nullptr)
    return llvm::Error::success();
  return llvm::createStringError("the module has no %s: this is not IR of the end of stage '%s'",
                                 planned ? "tw_plan.program" : "function @main", stage.stage.data());
}

} // namespace

llvm::Error checkStageIR(ModuleOp module, StringRef stage) {
  const StageDialects *expected = dialectsOf(stage);
  if (!expected) {
    SmallVector<StringRef> known =
        llvm::map_to_vector(stageDialects(), [](const StageDialects &each) -> StringRef { return each.stage; });
    return llvm::createStringError("cannot start at '%s': IR can be continued from the end of %s", stage.str().c_str(),
                                   llvm::join(known, ", ").c_str());
  }
  Operation *foreignOp = nullptr;
  SmallVector<StringRef> stages;
  module->walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (expected->has(dialect))
      return WalkResult::advance();
    for (const StageDialects &each : stageDialects())
      if (each.has(dialect))
        stages.push_back(each.stage);
    if (stages.empty())
      return WalkResult::advance();
    foreignOp = op;
    return WalkResult::interrupt();
  });
  if (foreignOp)
    return llvm::createStringError(
        "%s'%s' is an op of IR after the stage %s, not '%s'; check the stage after which the IR was saved",
        sourceLineBefore(foreignOp->getLoc()).c_str(), foreignOp->getName().getStringRef().str().c_str(),
        llvm::join(stages, " or ").c_str(), stage.str().c_str());
  if (llvm::Error failed = checkConstants(module))
    return failed;
  if (llvm::Error failed = checkSchedules(module))
    return failed;
  return checkModel(module, *expected);
}

} // namespace tilewright
