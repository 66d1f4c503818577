//===- PlanFromIR.h - convert tw_plan.program to the runtime's plan ----------------===//
#ifndef TILEWRIGHT_LIB_PLAN_PLANFROMIR_H
#define TILEWRIGHT_LIB_PLAN_PLANFROMIR_H

#include "dialects/Plan/PlanDialect.h"
#include "lib/Runtime/Plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/RunError.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// Returns the schedule of `launch` as one line of text for reports, such as "tiles 64x48, sizes 17 to 128". Returns ""
/// if the launch has no schedule.
std::string describeSchedule(plan::LaunchOp launch);

/// Returns the serializable plan of `program`.
llvm::Expected<plan::Plan> planFromIR(plan::ProgramOp program);

/// Returns the verified plan of the program in `module`.
llvm::Expected<plan::Plan> planOf(mlir::ModuleOp module);

/// Returns the user's line for each step of the plan of `module` except `once` steps. The line is "" for copies and for
/// steps without a source location. With `onlyChecked`, it is also "" for steps that check nothing at run time.
std::vector<std::string> stepLines(mlir::ModuleOp module, bool onlyChecked = false);

/// Appends the user's line from `lines` to the error of a call, if the error is in a step for which `lines` has one.
/// Always returns false.
bool withLine(RunError &error, llvm::ArrayRef<std::string> lines);

/// Converts result `result` of `map`, which uses only symbols.
plan::Expr exprFrom(mlir::AffineMap map, unsigned result = 0);

} // namespace tilewright

#endif
