//===- LowerStructured.cpp - from the structured stage to code --------------------------------------===//
#include "lib/Compiler/LowerStructured.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace tilewright {

llvm::Error lowerStructured(ModuleOp module, Target &target, const Options &options, bool onlyTiled) {
  MLIRContext &context = *module.getContext();
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      text += (text.empty() ? "" : "\n") + diagnostic.str();
  });
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(std::getenv("TILEWRIGHT_VERIFY") != nullptr);
  target.buildTiled(pm, options);
  if (!onlyTiled) {
    target.buildVector(pm, options);
    target.buildLowering(pm, options);
  }
  if (succeeded(pm.run(module)))
    return llvm::Error::success();
  return llvm::createStringError(text.empty() ? "lowering failed without a message" : text);
}

} // namespace tilewright
