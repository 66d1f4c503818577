//===- FixedPoint.cpp - run the passes of lib/Graph/Fixed and return errors -----------===//
#include "tilewright/FixedPoint.h"
#include "lib/Driver/RunPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
namespace {

/// Runs a pass and returns its errors without their locations, because the messages contain source lines.
llvm::Error runFixedPass(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  build(pm);
  std::optional<std::string> text = errorsOf(pm, module);
  if (!text)
    return llvm::Error::success();
  return llvm::createStringError("fixed point: " + (text->empty() ? "failed without a message" : *text));
}

} // namespace

llvm::Error makeFixedPoint(ModuleOp module, llvm::StringRef formats) {
  return runFixedPass(module, [&](OpPassManager &pm) {
    FixedPointOptions options;
    options.formats = formats.str();
    pm.addPass(createFixedPoint(options));
  });
}

llvm::Error widenIntegers(ModuleOp module) {
  return runFixedPass(module, [](OpPassManager &pm) { pm.addNestedPass<func::FuncOp>(createWidenIntegers()); });
}

} // namespace tilewright
