//===- PackAheadTest.cpp - parameters packed before the first call ---------===//
#include "PlanBuilder.h"
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/Executor.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace tilewright;
using namespace tilewright::runtime;
using plan::Buffer;
using plan::Expr;

/// packed[tile] = weight[tile] + 1.
static void addOne(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i] + 1;
}

/// out[tile] = packed[tile].
static void copy(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i];
}

namespace {
/// Output k = weight k + 1, where the sum is packed once. There are two weights of 4 MiB.
struct PackAhead : testing::Test {
  static constexpr int64_t count = 1 << 20, weights = 2;

  void SetUp() override {
    if (clipThreads(0) == 1)
      GTEST_SKIP() << "with one thread nothing is packed ahead";
    executable = make("");
  }

  /// `identity` names the machine code of the packing kernel; packs are shared only if the text is not empty.
  std::unique_ptr<Executable> make(const std::string &identity) {
    plan::Plan plan;
    plan.numInputs = plan.numOutputs = weights;
    plan.kernels = {"pack", "copy"};
    Expr bytes = Expr::constant(count * 4);
    for (int32_t k = 0; k < weights; ++k) {
      int32_t weight = addBuffer(plan, Buffer::Kind::Input, k, bytes);
      int32_t packed = addBuffer(plan, Buffer::Kind::Packed, 0, bytes);
      plan.once.push_back(launchStep(0, {weight, packed}, 2, Expr::constant(count)));
      plan.steps.push_back(
          launchStep(1, {packed, addBuffer(plan, Buffer::Kind::Output, k, bytes)}, 2, Expr::constant(count)));
    }
    auto made = Executable::create(std::move(plan), {{addOne, identity}, {copy, ""}}, {}, error.text);
    EXPECT_TRUE(made) << error.text;
    return made;
  }

  std::vector<const void *> inputs() const { return {tensors[0].data(), tensors[1].data()}; }
  std::vector<InputIdentity> identities() const { return {{tensors[0].data(), version}, {tensors[1].data(), version}}; }

  /// Waits until `packed` packs exist.
  void waitFor(int64_t packed) { waitFor(*executable, packed); }
  void waitFor(Executable &executable, int64_t packed) {
    while (executable.packedBytes() < packed * count * 4)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void expectResults(float first, float second) {
    std::vector<float> out[weights] = {std::vector<float>(count), std::vector<float>(count)};
    void *outputs[] = {out[0].data(), out[1].data()};
    ASSERT_TRUE(executable->run(inputs().data(), outputs, nullptr, 2, error, identities().data())) << error.text;
    EXPECT_EQ(out[0], std::vector<float>(count, first));
    EXPECT_EQ(out[1], std::vector<float>(count, second));
  }

  std::vector<float> tensors[weights] = {std::vector<float>(count, 1), std::vector<float>(count, 2)};
  uint64_t version = 0;
  std::unique_ptr<Executable> executable;
  RunError error;
};
} // namespace

TEST_F(PackAhead, CallUsesFinishedPacks) {
  executable->packAhead(inputs(), identities());
  waitFor(2);
  executable->endPackAhead();
  EXPECT_EQ(executable->packCount(), 2);
  expectResults(2, 3);
  EXPECT_EQ(executable->packCount(), 2);
}

TEST_F(PackAhead, CallPacksTheRest) {
  executable->packAhead(inputs(), identities());
  expectResults(2, 3); // the call may be executed before, during or after packing
  EXPECT_EQ(executable->packCount(), 2);
  EXPECT_EQ(executable->packedBytes(), 2 * count * 4);
}

TEST_F(PackAhead, UnknownInputsArePackedByTheCall) {
  executable->packAhead({nullptr, tensors[1].data()}, {{nullptr, 0}, {tensors[1].data(), 0}});
  waitFor(1);
  EXPECT_EQ(executable->packCount(), 1);
  expectResults(2, 3);
  EXPECT_EQ(executable->packCount(), 2);
}

TEST_F(PackAhead, ChangedInputsArePackedAgain) {
  executable->packAhead(inputs(), identities());
  waitFor(2);
  tensors[0].assign(count, 5);
  ++version;
  expectResults(6, 3);
}

TEST_F(PackAhead, DifferentTensorsArePackedAgain) {
  std::vector<float> other(count, 7);
  executable->packAhead({other.data(), tensors[1].data()}, {{other.data(), 0}, {tensors[1].data(), 0}});
  waitFor(2);
  expectResults(2, 3);
}

/// Regression: after a training step, a failed guard recompiled a model, which then held two packs of each weight.
TEST_F(PackAhead, OutdatedPacksAreNotKept) {
  executable = make("add one");
  expectResults(2, 3);
  ++version; // an optimizer step also increments the version
  std::unique_ptr<Executable> again = make("add one");
  again->packAhead(inputs(), identities());
  waitFor(*again, 2);
  again->endPackAhead();
  EXPECT_EQ(executable->packedBytes(), 0);
  expectResults(2, 3);
}

TEST_F(PackAhead, DestroyedWithoutACall) {
  executable->packAhead(inputs(), identities());
  executable.reset(); // the sanitizers detect reads of freed memory by the packing thread
}

TEST_F(PackAhead, ReleasedParametersArePackedInTheCall) {
  executable->onPacked([](int32_t, const void *, uint64_t, auto) { return false; });
  executable->packAhead(inputs(), identities());
  expectResults(2, 3);
  EXPECT_EQ(executable->packCount(), 2);
}
