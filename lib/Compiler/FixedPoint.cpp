//===- FixedPoint.cpp - the passes of lib/Graph/Fixed as calls that return errors -----===//
#include "tilewright/FixedPoint.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "tilewright/Passes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright {
namespace {

/// An error with what the pass has said, without the places that it names itself.
llvm::Error runFixedPass(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
  std::string text;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      llvm::raw_string_ostream(text) << (text.empty() ? "" : "\n") << diagnostic;
  });
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  build(pm);
  if (succeeded(pm.run(module)))
    return llvm::Error::success();
  return llvm::createStringError("fixed point: " + (text.empty() ? std::string("failed without a message") : text));
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
