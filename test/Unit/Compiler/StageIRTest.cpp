//===- StageIRTest.cpp - saved IR is lowered further, but is no program's ---------------===//
//
// test/Tools/start-at.mlir has the rest: that code is the same, and what is refused.
//
//===----------------------------------------------------------------------===//
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "gtest/gtest.h"

namespace tilewright {
namespace {

constexpr char graph[] = R"(
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tw.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  })";

TEST(StageIR, StagesThatHaveRunAreNotRunAgain) {
  Session session;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &session.context());
  ASSERT_TRUE(module);
  Options options;
  ASSERT_FALSE(session.lowerTo(*module, "structured", options));
  options.startAt = "structured";
  ASSERT_FALSE(session.lowerTo(*module, "vector", options));
  EXPECT_FALSE(module->lookupSymbol("main")); // it is a plan now
}

TEST(StageIR, ProgramsAreCompiledFromTheirGraph) {
  Session session;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &session.context());
  ASSERT_TRUE(module);
  Options options;
  options.startAt = "graph";
  auto program = session.compile(*module, options);
  ASSERT_FALSE(program);
  EXPECT_TRUE(llvm::StringRef(llvm::toString(program.takeError())).starts_with("a program is compiled from its graph"));
}

} // namespace
} // namespace tilewright
