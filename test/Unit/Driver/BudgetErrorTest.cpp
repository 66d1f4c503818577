//===- BudgetErrorTest.cpp - the numbers of a design that does not fit are data -----------===//
#include "tilewright/BudgetError.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "gtest/gtest.h"

namespace tilewright {
namespace {

/// Lowers a product to target hls under `budget`, and returns the error.
std::unique_ptr<BudgetError> lowerUnder(const char *budget) {
  Session session;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(func.func @main(%x: tensor<64x64xf32> {tw.name = "x"}, %w: tensor<64x64xf32> {tw.name = "w"})
             -> (tensor<64x64xf32> {tw.name = "y"}) {
           %h = tw.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
           return %h : tensor<64x64xf32>
         })",
      &session.context());
  Options options;
  options.target = "hls";
  options.own.set("budget", budget);
  std::unique_ptr<BudgetError> found;
  llvm::handleAllErrors(
      session.lowerTo(*module, "target", options),
      [&](std::unique_ptr<BudgetError> error) { found = std::move(error); },
      [](const llvm::ErrorInfoBase &other) { ADD_FAILURE() << other.message(); });
  return found;
}

TEST(BudgetError, APassReportsTheNumberThatTheModelNeeds) {
  auto error = lowerUnder("dsp=2");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->neededDsp, 3);
  EXPECT_FALSE(error->availableDsp);
  EXPECT_EQ(error->message(), "stage target: the budget cannot be met: this model needs dsp=3 with one copy of every "
                              "operator, and the budget has dsp=2; the smallest sufficient budget is --budget dsp=3");
}

TEST(BudgetError, ABudgetAboveThePartReportsWhatThePartHas) {
  auto error = lowerUnder("dsp=9025");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->availableDsp, 9024);
  EXPECT_FALSE(error->neededDsp);
  auto memories = lowerUnder("bram=9025");
  ASSERT_TRUE(memories);
  EXPECT_FALSE(memories->availableDsp);
}

} // namespace
} // namespace tilewright
