//===- PlanFromIR.h - tw_plan.program as the runtime reads it ----------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_PLANFROMIR_H
#define TILEWRIGHT_LIB_COMPILER_PLANFROMIR_H

#include "dialects/Plan/PlanDialect.h"
#include "lib/Runtime/Plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// The serializable plan of `program`.
llvm::Expected<plan::Plan> planFromIR(plan::ProgramOp program);

/// That of `module`, verified.
llvm::Expected<plan::Plan> planOf(mlir::ModuleOp module);

/// The user's line of each launch, or only of those that check indices; "" for others. As the plan of `module` counts
/// steps.
std::vector<std::string> stepLines(mlir::ModuleOp module, bool onlyChecked = false);

/// "[step 7]" at the end of a call's error becomes the user's line of `lines`. Returns false, as the call does.
bool withLine(std::string &error, llvm::ArrayRef<std::string> lines);

/// Result `result` of `map`, which is over symbols only.
plan::Expr exprFrom(mlir::AffineMap map, unsigned result = 0);

} // namespace tilewright

#endif
