//===- StepRangesTest.cpp - memory allocated and released during a call ---===//
#include "lib/Runtime/Host/StepRanges.h"
#include "PlanBuilder.h"
#include "lib/Runtime/Host/Executor.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

using namespace tilewright;
using namespace tilewright::runtime;
using plan::Buffer;
using plan::Expr;

namespace {

constexpr int layers = 4;

/// out[tile] = in[tile] + 1; one float per tile.
void addOne(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i] + 1;
}

/// out[tile] = carried[count - 1 - tile] + saved[tile], which reads elements that other threads wrote.
void turnAndAdd(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[2])[i] =
        static_cast<const float *>(buffers[0])[sizes[0] - 1 - i] + static_cast<const float *>(buffers[1])[i];
}

/// Returns the plan of a small backward graph over s0 floats. For each layer, it computes carried = reversed(carried) +
/// saved[layer] and gradient[layer] = carried + 1. No step accesses output 4.
plan::Plan backwardPlan() {
  plan::Plan plan;
  plan.symbols = {{"length", 0, int64_t(1) << 30}};
  plan.numInputs = layers + 1;
  plan.numOutputs = layers + 1;
  plan.kernels = {"add_one", "turn_and_add"};
  Expr bytes = Expr::symbol(0) * 4;
  int32_t carried = addBuffer(plan, Buffer::Kind::Input, layers, bytes);
  for (int layer = 0; layer < layers; ++layer) {
    int32_t saved = addBuffer(plan, Buffer::Kind::Input, layer, bytes),
            next = addBuffer(plan, Buffer::Kind::Arena, 0, bytes),
            gradient = addBuffer(plan, Buffer::Kind::Output, layer, bytes);
    plan.steps.push_back(launchStep(1, {carried, saved, next}, 4, Expr::symbol(0), {Expr::symbol(0)}));
    plan.steps.push_back(launchStep(0, {next, gradient}, 2, Expr::symbol(0)));
    carried = next;
  }
  return plan;
}

std::vector<Frame::StepRange> stepRangesAt(int64_t length, int64_t worthwhile) {
  plan::Plan plan = backwardPlan();
  Frame frame;
  RunError error;
  EXPECT_EQ(verify(plan), "");
  EXPECT_TRUE(resolveFrame(plan, &length, frame, error)) << error.text;
  return cutIntoStepRanges(frame, std::vector<bool>(size_t(plan.numInputs)), plan.numOutputs, 0, worthwhile);
}

TEST(StepRanges, EndAfterLastReadsOfInputsAndBeforeFirstUsesOfOutputs) {
  std::vector<Frame::StepRange> stepRanges = stepRangesAt(100, 400);
  ASSERT_EQ(stepRanges.size(), size_t(layers + 1));
  size_t begin = 0;
  for (int i = 0; i <= layers; ++i) {
    // There is a barrier before each gradient, but none before the following step, which computes `carried`.
    std::vector<int32_t> inputs{i}, outputs{i - 1};
    if (i == 0)
      inputs = {0, layers}, outputs = {layers};
    if (i == layers)
      inputs.clear();
    EXPECT_EQ(stepRanges[i].begin, begin);
    EXPECT_EQ(stepRanges[i].inputs, inputs) << i;
    EXPECT_EQ(stepRanges[i].outputs, outputs) << i;
    begin = stepRanges[i].end;
  }
  EXPECT_EQ(begin, size_t(2 * layers));
}

TEST(StepRanges, AreOneIfLittleMemoryIsReleased) {
  for (auto [length, worthwhile] : {std::pair<int64_t, int64_t>{100, 401 * layers}, {0, 1}}) {
    std::vector<Frame::StepRange> stepRanges = stepRangesAt(length, worthwhile);
    ASSERT_EQ(stepRanges.size(), 1u);
    EXPECT_EQ(stepRanges[0].outputs.size(), size_t(layers + 1));
  }
}

/// Allocates outputs when they are requested, except output `refused`, and overwrites inputs with NaN when they are
/// released.
class Watched final : public CallersMemory {
public:
  Watched(std::vector<std::vector<float>> &inputs, std::vector<void *> &outputs, int64_t length, int refused)
      : made(outputs.size()), inputs(inputs), outputs(outputs), length(length), refused(refused) {}

  bool take(const std::vector<int32_t> &numbers, RunError &error) override {
    ++takes;
    for (int32_t number : numbers) {
      if (number == refused) {
        error = {RunError::Kind::OutOfMemory, "out of memory"};
        return false;
      }
      EXPECT_TRUE(made[number].empty());
      made[number].resize(size_t(length) + 1);
      outputs[number] = made[number].data();
    }
    return true;
  }

  void release(const std::vector<int32_t> &numbers) override {
    for (int32_t number : numbers) {
      std::fill(inputs[number].begin(), inputs[number].end(), std::numeric_limits<float>::quiet_NaN());
      ++released;
    }
  }

  std::vector<std::vector<float>> made;
  int takes = 0, released = 0;

private:
  std::vector<std::vector<float>> &inputs;
  std::vector<void *> &outputs;
  int64_t length;
  int refused;
};

TEST(StepRanges, ResultsEqualThoseOfOneRange) {
  RunError error;
  auto executable = Executable::create(backwardPlan(), {{addOne, ""}, {turnAndAdd, ""}}, {}, error.text);
  ASSERT_TRUE(executable) << error.text;
  for (int64_t length : {int64_t(0), int64_t(5), int64_t(3) << 20})
    for (int threads : {1, 2})
      for (int refused : {-1, 2}) {
        std::vector<std::vector<float>> inputs(layers + 1, std::vector<float>(size_t(length) + 1));
        std::vector<const void *> pointers;
        for (int i = 0; i <= layers; ++i) {
          for (int64_t k = 0; k < length; ++k)
            inputs[i][k] = float(i + k % 7);
          pointers.push_back(inputs[i].data());
        }
        std::vector<float> carried = inputs[layers];
        std::vector<std::vector<float>> wanted;
        for (int layer = 0; layer < layers; ++layer) {
          std::reverse(carried.begin(), carried.begin() + length);
          wanted.emplace_back();
          for (int64_t k = 0; k < length; ++k)
            wanted.back().push_back((carried[k] += inputs[layer][k]) + 1);
        }
        std::vector<void *> outputs(layers + 1, nullptr);
        Watched memory(inputs, outputs, length, refused);
        bool ok = executable->run(pointers.data(), outputs.data(), &length, threads, error, nullptr, &memory);
        EXPECT_EQ(ok, refused < 0);
        if (!ok) {
          EXPECT_EQ(error.text, "out of memory");
          EXPECT_EQ(error.kind, RunError::Kind::OutOfMemory);
          continue;
        }
        EXPECT_EQ(memory.takes, length > 100 ? layers + 1 : 1);
        EXPECT_EQ(memory.released, length ? layers + 1 : 0);
        for (int layer = 0; layer < layers; ++layer)
          for (int64_t k = 0; k < length; ++k)
            ASSERT_EQ(memory.made[layer][k], wanted[layer][k]) << layer << " " << k;
      }
}

} // namespace
