//===- StageIR.h - is this IR what a stage leaves behind? -------------------===//
#ifndef TILEWRIGHT_COMPILER_STAGEIR_H
#define TILEWRIGHT_COMPILER_STAGEIR_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// Success if `module` may be continued as IR of the end of `stage` (a name of stageNames()): its model is there, and
/// no op lies in a dialect that only other stages have, and constants have their elements. Dialects of no stage of the
/// house are a tenant's, and are allowed. The error names the first op that does not belong, its line, and the stages
/// that it belongs to.
llvm::Error checkStageIR(mlir::ModuleOp module, llvm::StringRef stage);

} // namespace tilewright

#endif
