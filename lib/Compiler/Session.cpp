//===- Session.cpp - a module and options in, a Program out -------------------===//
#include "mlir/IR/DialectRegistry.h"
#include "tilewright/Compiler.h"
#include "tilewright/Pipelines.h"

namespace tilewright {

struct Session::State {
  State() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

Session::Session() : state(std::make_unique<State>()) {}
Session::~Session() = default;
mlir::MLIRContext &Session::context() { return state->context; }

llvm::Expected<std::shared_ptr<Program>> Session::compile(mlir::ModuleOp, const Options &) {
  return llvm::createStringError("not built yet: the stages after graph");
}

llvm::Error Session::lowerTo(mlir::ModuleOp, llvm::StringRef stage, const Options &) {
  return llvm::createStringError("not built yet: stage " + stage.str());
}

} // namespace tilewright
