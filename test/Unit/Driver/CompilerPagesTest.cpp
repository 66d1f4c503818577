//===- CompilerPagesTest.cpp - dropped code pages are read back -----------------------===//
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "gtest/gtest.h"
#include <fstream>

namespace tilewright {
namespace {

long residentFileKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("RssFile:", 0) == 0)
      return std::atol(line.c_str() + 8);
  return 0;
}

void compileSomething() {
  Session session;
  auto module = mlir::parseSourceString<mlir::ModuleOp>("module {}", &session.context());
  ASSERT_TRUE(module);
  auto program = session.compile(*module, Options());
  ASSERT_FALSE(program);
  EXPECT_TRUE(llvm::StringRef(llvm::toString(program.takeError())).starts_with("the module has no function @main"));
}

TEST(CompilerPages, AreMappedAgainWhenNeeded) {
  compileSomething();
  long before = residentFileKilobytes();
  releaseCompilerMemory();
  EXPECT_LT(residentFileKilobytes(), before - 8 * 1024);
  compileSomething();
}

} // namespace
} // namespace tilewright
