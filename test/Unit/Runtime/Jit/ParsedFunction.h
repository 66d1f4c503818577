//===- ParsedFunction.h - LLVM modules of tests as text -----------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_RUNTIME_JIT_PARSEDFUNCTION_H
#define TILEWRIGHT_TEST_UNIT_RUNTIME_JIT_PARSEDFUNCTION_H

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace tilewright::runtime {

/// Returns the module with this text, or null after a test failure if the text is invalid.
inline std::unique_ptr<llvm::Module> parsedModule(llvm::LLVMContext &context, const std::string &text) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  if (!module)
    ADD_FAILURE() << problem.getMessage().str();
  return module;
}

/// Returns the text of the function @f of the module `text` after `rewrite`.
inline std::string rewrittenFunction(const std::string &text, void (*rewrite)(llvm::Module &)) {
  llvm::LLVMContext context;
  auto module = parsedModule(context, text);
  if (!module)
    return "";
  rewrite(*module);
  std::string result;
  llvm::raw_string_ostream stream(result);
  module->getFunction("f")->print(stream);
  return result;
}

} // namespace tilewright::runtime

#endif
