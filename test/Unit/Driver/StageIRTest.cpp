//===- StageIRTest.cpp - saved IR can be lowered further, but not compiled --------------===//
//
// test/Tools/start-at.mlir tests that the code generated from saved IR equals that of a whole compilation, and that
// other IR is rejected.
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

TEST(StageIR, FinishedStagesAreNotRunAgain) {
  Session session;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &session.context());
  ASSERT_TRUE(module);
  Options options;
  ASSERT_FALSE(session.lowerTo(*module, "structured", options));
  options.startAt = "structured";
  ASSERT_FALSE(session.lowerTo(*module, "vector", options));
  EXPECT_FALSE(module->lookupSymbol("main")); // @main was converted to a plan
}

TEST(StageIR, ProgramsAreCompiledFromTheirGraph) {
  Session session;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &session.context());
  ASSERT_TRUE(module);
  Options options;
  options.startAt = "graph";
  auto program = session.compile(*module, options);
  ASSERT_FALSE(program);
  EXPECT_TRUE(llvm::StringRef(llvm::toString(program.takeError()))
                  .starts_with("a program can be compiled only from its graph"));
}

} // namespace
} // namespace tilewright
