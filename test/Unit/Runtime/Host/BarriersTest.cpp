//===- BarriersTest.cpp - barriers between the steps of a call ------------===//
#include "PlanBuilder.h"
#include "lib/Runtime/Host/Frame.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::runtime;
using plan::Buffer;
using plan::Expr;

struct BarriersTest : testing::Test {
  BarriersTest() {
    plan.numInputs = plan.numOutputs = 2;
    plan.kernels = {"k"};
    for (int i = 0; i < 2; ++i)
      in[i] = addBuffer(plan, Buffer::Kind::Input, i, Expr::constant(1000));
    for (int i = 0; i < 4; ++i)
      arena[i] = addBuffer(plan, Buffer::Kind::Arena, 0, Expr::constant(1000));
    for (int i = 0; i < 2; ++i)
      out[i] = addBuffer(plan, Buffer::Kind::Output, i, Expr::constant(1000));
  }
  void step(std::vector<int32_t> buffers, uint64_t writes, int64_t grid = 8) {
    plan.steps.push_back(launchStep(0, std::move(buffers), writes, Expr::constant(grid)));
  }
  /// Returns one character for each step that has tiles: '|' if there is a barrier before the step, else '.'.
  std::string barriers() {
    Frame frame;
    RunError error;
    EXPECT_EQ(verify(plan), "");
    EXPECT_TRUE(resolveFrame(plan, nullptr, frame, error)) << error.text;
    std::string text;
    for (const Frame::Step &step : frame.steps)
      text += step.barrierBefore ? '|' : '.';
    return text;
  }
  /// Lists for each step of the plan the steps that it waits for when steps run concurrently: "0: 1: 2:0,1 ".
  std::string waits() {
    Frame frame;
    RunError error;
    std::string text;
    EXPECT_TRUE(resolveFrame(plan, nullptr, frame, error)) << error.text;
    std::vector<bool> writes, mayAlias(size_t(plan.numInputs));
    for (const plan::Buffer &buffer : plan.buffers)
      if (buffer.kind == Buffer::Kind::Input)
        mayAlias[size_t(buffer.index)] = buffer.inPlace;
    for (const Frame::Step &step : frame.steps)
      for (size_t i = 0; i < plan.steps[size_t(step.number)].operands.size(); ++i)
        writes.push_back(plan::writesOperand(plan.steps[size_t(step.number)], i));
    auto before = stepsBefore(frame, plan.steps.size(), writes, mayAlias);
    for (size_t i = 0; i < before.size(); ++i) {
      std::sort(before[i].begin(), before[i].end());
      text += std::to_string(i) + ":";
      for (size_t k = 0; k < before[i].size(); ++k)
        text += (k ? "," : "") + std::to_string(before[i][k]);
      text += " ";
    }
    return text;
  }
  plan::Plan plan;
  int32_t in[2], arena[4], out[2];
};

TEST_F(BarriersTest, IndependentStepsNeedNone) {
  step({in[0], out[0]}, 2);
  step({in[0], out[1]}, 2);
  EXPECT_EQ(barriers(), "..");
}

TEST_F(BarriersTest, ReadAfterWrite) {
  step({in[0], arena[0]}, 2);
  step({in[1], arena[1]}, 2);
  step({arena[0], arena[1], out[0]}, 4);
  EXPECT_EQ(barriers(), "..|");
}

TEST_F(BarriersTest, WriteAfterReadAndWriteAfterWrite) {
  step({in[0], arena[0]}, 2);
  step({arena[0], out[0]}, 2);
  step({in[1], arena[0]}, 2);
  step({in[1], arena[0]}, 2);
  EXPECT_EQ(barriers(), ".|||");
}

// arena[1] reuses the memory of arena[0], which is dead. Only the byte ranges show the dependence.
TEST_F(BarriersTest, ArenaMemoryUsedAgain) {
  step({in[0], arena[0]}, 2);
  step({arena[0], out[0]}, 2);
  step({in[1], arena[1]}, 2);
  EXPECT_EQ(barriers(), ".||");
}

TEST_F(BarriersTest, StepsOfThreadZeroNeedNoneBetweenThem) {
  step({in[0], arena[0]}, 2, 1);
  step({arena[0], arena[1]}, 2, 1);
  step({arena[1], out[0]}, 2, 8);
  EXPECT_EQ(barriers(), "..|");
}

TEST_F(BarriersTest, InPlaceInputsMayBeAnyTensorOfTheCaller) {
  step({in[1], out[0]}, 2);
  step({in[0]}, 1);
  plan.buffers[in[0]].inPlace = true;
  EXPECT_EQ(barriers(), ".|");
}

TEST_F(BarriersTest, HostFunctionsRunAlone) {
  plan.hostFunctions = {"h"};
  step({in[0], out[0]}, 2);
  plan::Step host;
  host.kind = plan::Step::Kind::Host;
  plan.steps.push_back(host);
  step({in[0], out[1]}, 2);
  EXPECT_EQ(barriers(), ".||");
}

TEST_F(BarriersTest, StepsWithoutTilesAreRemoved) {
  step({in[0], arena[0]}, 2);
  step({arena[0], arena[1]}, 2, 0);
  step({in[1], out[0]}, 2);
  EXPECT_EQ(barriers(), "..");
}

TEST_F(BarriersTest, StepsWaitForStepsThatShareTheirMemory) {
  step({in[0], arena[0]}, 2);
  step({in[1], arena[1]}, 2, 1);
  step({arena[0], arena[1], out[0]}, 4, 1);
  step({in[0], out[1]}, 2);
  step({out[0], out[1]}, 2);
  EXPECT_EQ(waits(), "0: 1: 2:0,1 3: 4:2,3 ");
}

TEST_F(BarriersTest, StepsDoNotRepeatEarlierWaits) {
  step({in[0], arena[0]}, 2);
  step({arena[0], arena[1]}, 2, 1);
  step({arena[0], arena[1], out[0]}, 4, 1);
  EXPECT_EQ(waits(), "0: 1:0 2:1 ");
}

TEST_F(BarriersTest, StepsWaitForReadersOfMemoryTheyWrite) {
  step({in[0], arena[0]}, 2);
  step({arena[0], out[0]}, 2);
  step({in[1], arena[1]}, 2);
  EXPECT_EQ(waits(), "0: 1:0 2:1 ") << "arena 1 takes the place of arena 0";
}

TEST_F(BarriersTest, StepsWaitForInPlaceInputs) {
  step({in[1], out[0]}, 2);
  step({in[0]}, 1);
  plan.buffers[size_t(in[0])].inPlace = true;
  EXPECT_EQ(waits(), "0: 1:0 ");
}
