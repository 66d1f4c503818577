//===- LowerStructured.cpp - from the structured stage to code --------------------------------------===//
#include "lib/Driver/LowerStructured.h"
#include "lib/Driver/RunPasses.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {

llvm::Error lowerStructured(ModuleOp module, Target &target, const Options &options, bool onlyTiled) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(verifiesStages());
  auto verify = [&](StringRef stage) {
    if (verifiesStages())
      pm.addPass(createVerifyStage({stage.str(), target.dialectsAfter(stage)}));
  };
  target.buildTiled(pm, options);
  verify("tiled");
  if (!onlyTiled) {
    target.buildVector(pm, options);
    verify("vector");
    target.buildLowering(pm, options);
    verify("target");
  }
  std::optional<std::string> text = errorsOf(pm, module);
  if (!text)
    return llvm::Error::success();
  return llvm::createStringError(text->empty() ? "lowering failed without a message" : *text);
}

} // namespace tilewright
