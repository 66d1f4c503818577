//===- RunPasses.h - run a pipeline and return its errors as text --------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_RUNPASSES_H
#define TILEWRIGHT_LIB_DRIVER_RUNPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "tilewright/Target.h"
#include <optional>
#include <string>

namespace tilewright {

/// Runs `pm` on `module`. Returns nullopt on success. On failure, returns the errors of its passes without locations.
/// The text is empty if the failing pass emitted no error.
inline std::optional<std::string> errorsOf(mlir::PassManager &pm, mlir::ModuleOp module) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      text += (text.empty() ? "" : "\n") + diagnostic.str();
  });
  return succeeded(pm.run(module)) ? std::nullopt : std::optional(std::move(text));
}

/// If stages are verified, adds the pass that verifies the contract of `stage`, whose passes have been added to `pm`.
inline void verifyAfter(mlir::OpPassManager &pm, const Target &target, llvm::StringRef stage) {
  if (verifiesStages())
    pm.addPass(createVerifyStage({stage.str(), target.dialectsAfter(stage)}));
}

} // namespace tilewright

#endif
