//===- GuardedOperandsTest.cpp - detects accesses outside of buffers ----------===//
#include "lib/Runtime/Host/GuardedOperands.h"
#include "PlanBuilder.h"
#include "lib/Runtime/Host/Executor.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::runtime;
using plan::Buffer;
using plan::Expr;

namespace {

/// out[i] = sum of the operands at i, except that operand `where` is accessed at i + `offset`. Operand 3 is `out`.
template <int where, int offset>
void planted(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int operand = 0; operand < 3; ++operand) {
      const volatile float *from = static_cast<const float *>(buffers[operand]);
      sum += from[operand == where ? i + offset : i];
    }
    static_cast<volatile float *>(buffers[3])[where == 3 ? i + offset : i] = sum;
  }
}

void copyOut(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i];
}

constexpr int64_t count = 48; // a multiple of the widest vector's length

/// Runs planted() on an input, a constant, an arena buffer and an output.
bool run(Kernel kernel, RunError &error) {
  plan::Plan plan;
  plan.numInputs = plan.numOutputs = 1;
  plan.kernels = {"copy", "planted"};
  plan.constants.resize(count * sizeof(float));
  auto bytes = Expr::constant(count * sizeof(float));
  int32_t in = addBuffer(plan, Buffer::Kind::Input, 0, bytes), held = addBuffer(plan, Buffer::Kind::Constant, 0, bytes),
          arena = addBuffer(plan, Buffer::Kind::Arena, 0, bytes), out = addBuffer(plan, Buffer::Kind::Output, 0, bytes);
  plan.steps = {launchStep(0, {in, arena}, 2, Expr::constant(count)),
                launchStep(1, {in, held, arena, out}, 8, Expr::constant(count))};
  auto executable = Executable::create(std::move(plan), {{copyOut, ""}, kernel}, {}, error.text);
  if (!executable)
    return false;
  std::vector<float> input(count + 16, 1.5f), output(count + 16, 0.0f);
  const void *inputs[] = {input.data()};
  void *outputs[] = {output.data()};
  if (!executable->run(inputs, outputs, nullptr, 1, error))
    return false;
  for (int64_t i = 0; i < count; ++i)
    EXPECT_EQ(output[i], 3.0f) << i;
  return true;
}

class GuardedOperandsTest : public testing::Test {
protected:
  void SetUp() override { GuardedOperands::want(true); }
  void TearDown() override { GuardedOperands::want(false); }
};

} // namespace

TEST_F(GuardedOperandsTest, CorrectKernelsRun) {
  RunError error;
  EXPECT_TRUE(run({planted<-1, 0>, ""}, error)) << error.text;
}

TEST_F(GuardedOperandsTest, AccessesAfterTheEndTerminateTheProcess) {
  RunError error;
  EXPECT_DEATH(run({planted<0, 1>, ""}, error), "");
  EXPECT_DEATH(run({planted<1, 1>, ""}, error), "");
  EXPECT_DEATH(run({planted<2, 1>, ""}, error), "");
  EXPECT_DEATH(run({planted<3, 1>, ""}, error), "");
}

TEST_F(GuardedOperandsTest, WritesBeforeTheStartAreErrors) {
  RunError error;
  EXPECT_FALSE(run({planted<3, -1>, ""}, error));
  EXPECT_NE(error.text.find("has written outside of a buffer of 192 bytes"), std::string::npos) << error.text;
}

TEST_F(GuardedOperandsTest, WithoutGuardsNothingIsDetected) {
  GuardedOperands::want(false);
  RunError error;
  EXPECT_TRUE(run({planted<0, 1>, ""}, error)) << error.text;
}
