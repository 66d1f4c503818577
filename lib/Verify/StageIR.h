//===- StageIR.h - check that IR is valid at the end of a stage -------------===//
#ifndef TILEWRIGHT_LIB_VERIFY_STAGEIR_H
#define TILEWRIGHT_LIB_VERIFY_STAGEIR_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// Succeeds if compilation can continue with `module` after `stage` (a name of stageNames()): the module contains the
/// model, no op is in a dialect that only other stages have, schedules are typed attributes, and constants have their
/// elements. Dialects that do not occur in any built-in stage are dialects of a target and are allowed. For an op of
/// another stage, the error names the first such op, its line, and the stages in which it is valid.
llvm::Error checkStageIR(mlir::ModuleOp module, llvm::StringRef stage);

} // namespace tilewright

#endif
