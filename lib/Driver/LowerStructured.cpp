//===- LowerStructured.cpp - from the structured stage to code --------------------------------------===//
#include "lib/Driver/LowerStructured.h"
#include "lib/Driver/RunPasses.h"

using namespace mlir;

namespace tilewright {

llvm::Error lowerStructured(ModuleOp module, Target &target, const Options &options, bool onlyTiled) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(verifiesStages());
  target.buildTiled(pm, options);
  verifyAfter(pm, target, "tiled");
  if (!onlyTiled) {
    target.buildVector(pm, options);
    verifyAfter(pm, target, "vector");
    target.buildLowering(pm, options);
    verifyAfter(pm, target, "target");
  }
  std::optional<std::string> text = errorsOf(pm, module);
  if (!text)
    return llvm::Error::success();
  return llvm::createStringError(text->empty() ? "lowering failed without a message" : *text);
}

} // namespace tilewright
