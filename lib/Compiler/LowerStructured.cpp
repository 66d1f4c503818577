//===- LowerStructured.cpp - from the structured stage to code --------------------------------------===//
#include "lib/Compiler/LowerStructured.h"
#include "lib/Compiler/RunPasses.h"

using namespace mlir;

namespace tilewright {

llvm::Error lowerStructured(ModuleOp module, Target &target, const Options &options, bool onlyTiled) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(std::getenv("TILEWRIGHT_VERIFY") != nullptr);
  target.buildTiled(pm, options);
  if (!onlyTiled) {
    target.buildVector(pm, options);
    target.buildLowering(pm, options);
  }
  std::optional<std::string> text = errorsOf(pm, module);
  if (!text)
    return llvm::Error::success();
  return llvm::createStringError(text->empty() ? "lowering failed without a message" : *text);
}

} // namespace tilewright
