//===- BarriersTest.cpp - where the threads of a call must meet -----------===//
#include "PlanBuilder.h"
#include "lib/Runtime/Host/Frame.h"

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
  /// One character per step: '|' where a barrier stands before it.
  std::string barriers() {
    Frame frame;
    std::string error;
    EXPECT_EQ(verify(plan), "");
    EXPECT_TRUE(resolveFrame(plan, nullptr, frame, error)) << error;
    std::string text;
    for (const Frame::Step &step : frame.steps)
      text += step.barrierBefore ? '|' : '.';
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

// arena[1] takes the place of arena[0], which is dead: only the bytes tell that the two meet.
TEST_F(BarriersTest, ArenaMemoryUsedAgain) {
  step({in[0], arena[0]}, 2);
  step({arena[0], out[0]}, 2);
  step({in[1], arena[1]}, 2);
  EXPECT_EQ(barriers(), ".||");
}

TEST_F(BarriersTest, StepsOfThreadZeroNeedNoneAmongThemselves) {
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

TEST_F(BarriersTest, HostFunctionsRunBesideNothing) {
  plan.hostFunctions = {"h"};
  step({in[0], out[0]}, 2);
  plan::Step host;
  host.kind = plan::Step::Kind::Host;
  plan.steps.push_back(host);
  step({in[0], out[1]}, 2);
  EXPECT_EQ(barriers(), ".||");
}

TEST_F(BarriersTest, StepsWithoutTilesVanish) {
  step({in[0], arena[0]}, 2);
  step({arena[0], arena[1]}, 2, 0);
  step({in[1], out[0]}, 2);
  EXPECT_EQ(barriers(), "..");
}
