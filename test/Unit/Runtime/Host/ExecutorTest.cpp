//===- ExecutorTest.cpp - plans whose kernels are written in C++ ----------===//
#include "lib/Runtime/Host/Executor.h"
#include "PlanBuilder.h"

#include <gtest/gtest.h>
#include <numeric>
#include <thread>

using namespace tilewright;
using namespace tilewright::runtime;
using plan::Buffer;
using plan::Expr;

/// out[tile] = in[tile] + 1; one float per tile.
static void addOne(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i] + 1;
}

/// out[tile] = in[count - 1 - tile], which reads elements that other threads wrote.
static void reverse(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[sizes[0] - 1 - i];
}

/// out[tile] = in[tile] + packed[tile], computed in the thread's scratch memory.
static void addPacked(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *scratch) {
  for (int64_t i = begin; i < end; ++i) {
    auto *mine = static_cast<volatile float *>(scratch);
    *mine = static_cast<const float *>(buffers[0])[i];
    static_cast<float *>(buffers[2])[i] = *mine + static_cast<const float *>(buffers[1])[i];
  }
}

static Buffer::Kind In = Buffer::Kind::Input, Out = Buffer::Kind::Output, Arena = Buffer::Kind::Arena,
                    Packed = Buffer::Kind::Packed;

/// out = reverse(in + 1) + 1, over s0 floats.
static plan::Plan chainPlan() {
  plan::Plan plan;
  plan.symbols = {{"length", 0, 1000000}};
  plan.numInputs = plan.numOutputs = 1;
  plan.kernels = {"add_one", "reverse"};
  Expr bytes = Expr::symbol(0) * 4;
  int32_t in = addBuffer(plan, In, 0, bytes), a = addBuffer(plan, Arena, 0, bytes),
          b = addBuffer(plan, Arena, 0, bytes), out = addBuffer(plan, Out, 0, bytes);
  plan.steps = {launchStep(0, {in, a}, 2, Expr::symbol(0)),
                launchStep(1, {a, b}, 2, Expr::symbol(0), {Expr::symbol(0)}),
                launchStep(0, {b, out}, 2, Expr::symbol(0))};
  return plan;
}

static std::unique_ptr<Executable> chainExecutable() {
  RunError error;
  auto executable = Executable::create(chainPlan(), {{addOne, ""}, {reverse, ""}}, {}, error.text);
  EXPECT_TRUE(executable) << error.text;
  return executable;
}

static void expectChain(Executable &executable, int64_t length, int threads) {
  std::vector<float> in(length), out(length, -1);
  std::iota(in.begin(), in.end(), 0.0f);
  const void *inputs[] = {in.data()};
  void *outputs[] = {out.data()};
  RunError error;
  ASSERT_TRUE(executable.run(inputs, outputs, &length, threads, error)) << error.text;
  for (int64_t i = 0; i < length; ++i)
    ASSERT_EQ(out[i], float(length - 1 - i + 2)) << i;
}

TEST(Executor, ChainOnOneAndTwoThreads) {
  auto executable = chainExecutable();
  for (int round = 0; round < 50; ++round)
    for (int threads : {1, 2})
      for (int64_t length : {1, 2, 7, 1000, 100000 / (round + 1)})
        expectChain(*executable, length, threads);
}

/// Returns isBrief() of a plan that computes out = in + 1 for `elements` floats in `tiles` tiles, in each of `steps`
/// steps.
static bool isBriefWith(const Expr &elements, const Expr &tiles, size_t steps = 1) {
  plan::Plan plan;
  plan.symbols = {{"length", 0, 1000000}};
  plan.numInputs = plan.numOutputs = 1;
  plan.kernels = {"add_one"};
  Expr bytes = elements * 4;
  int32_t in = addBuffer(plan, In, 0, bytes), out = addBuffer(plan, Out, 0, bytes);
  plan.steps.assign(steps, launchStep(0, {in, out}, 2, tiles));
  RunError error;
  auto executable = Executable::create(plan, {{addOne, ""}}, {}, error.text);
  EXPECT_TRUE(executable) << error.text;
  return executable && executable->isBrief();
}

TEST(Executor, OnlySmallFixedPlansOfOneStepAreBrief) {
  auto constant = [](int64_t value) { return Expr::constant(value); };
  EXPECT_TRUE(isBriefWith(constant(16), constant(1)));
  EXPECT_TRUE(isBriefWith(constant(512), constant(1))); // 2 KiB in each of two buffers
  EXPECT_FALSE(isBriefWith(constant(513), constant(1)));
  EXPECT_FALSE(isBriefWith(constant(INT64_MAX / 4), constant(1)));
  EXPECT_FALSE(isBriefWith(constant(16), constant(2)));
  EXPECT_FALSE(isBriefWith(constant(16), constant(1), /*steps=*/2));
  EXPECT_FALSE(isBriefWith(Expr::symbol(0), constant(1)));
  EXPECT_FALSE(isBriefWith(constant(16), Expr::symbol(0)));
}

TEST(Executor, EmptyTensorsMayBeNull) {
  auto executable = chainExecutable();
  const void *inputs[] = {nullptr};
  void *outputs[] = {nullptr};
  int64_t length = 0;
  RunError error;
  EXPECT_TRUE(executable->run(inputs, outputs, &length, 2, error)) << error.text;
}

TEST(Executor, ErrorsNameTheCause) {
  auto executable = chainExecutable();
  float value = 0;
  const void *inputs[] = {&value}, *nothing[] = {nullptr};
  void *outputs[] = {&value};
  int64_t length = 1000001;
  RunError error;
  EXPECT_FALSE(executable->run(inputs, outputs, &length, 1, error));
  EXPECT_NE(error.text.find("length"), std::string::npos) << error.text;
  EXPECT_NE(error.text.find("1000001"), std::string::npos) << error.text;
  length = -1;
  EXPECT_FALSE(executable->run(inputs, outputs, &length, 1, error));
  length = 1;
  EXPECT_FALSE(executable->run(nothing, outputs, &length, 1, error));
  EXPECT_NE(error.text.find("input 0"), std::string::npos) << error.text;
  EXPECT_FALSE(executable->run(inputs, nullptr, &length, 1, error));
  EXPECT_FALSE(executable->run(inputs, outputs, nullptr, 1, error));
  EXPECT_TRUE(executable->run(inputs, outputs, &length, 1, error)) << error.text;
  EXPECT_FALSE(Executable::create(chainPlan(), {{addOne, ""}}, {}, error.text));
  EXPECT_FALSE(Executable::create(chainPlan(), {{addOne, ""}, {}}, {}, error.text));
  EXPECT_NE(error.text.find("reverse"), std::string::npos) << error.text;
}

TEST(Executor, SizesThatDoNotFitAreErrorsBeforeAnythingRuns) {
  plan::Plan plan = chainPlan();
  plan.guards = {{Expr::symbol(0), Expr::constant(7), false, "join: length must be 7"}};
  RunError error;
  auto executable = Executable::create(plan, {{addOne, ""}, {reverse, ""}}, {}, error.text);
  ASSERT_TRUE(executable) << error.text;
  expectChain(*executable, 7, 1);
  std::vector<float> in(9, 1.0f), out(9, -1.0f);
  const void *inputs[] = {in.data()};
  void *outputs[] = {out.data()};
  for (int round = 0; round < 2; ++round) {
    int64_t length = 9;
    EXPECT_FALSE(executable->run(inputs, outputs, &length, 1, error));
    EXPECT_NE(error.text.find("join: length must be 7; here it is 9"), std::string::npos) << error.text;
    EXPECT_EQ(error.kind, RunError::Kind::SizesDoNotFit);
    EXPECT_EQ(out, std::vector<float>(9, -1.0f));
    expectChain(*executable, 7, 2);
  }
}

TEST(Executor, HugeArenaIsAnErrorWithItsSize) {
  plan::Plan plan;
  plan.kernels = {"k"};
  plan.numOutputs = 1;
  int32_t big = addBuffer(plan, Arena, 0, Expr::constant(int64_t(1) << 46)),
          out = addBuffer(plan, Out, 0, Expr::constant(4));
  plan.steps = {launchStep(0, {out, big}, 3, Expr::constant(1))};
  RunError error;
  auto executable = Executable::create(plan, {{addOne, ""}}, {}, error.text);
  ASSERT_TRUE(executable) << error.text;
  float value = 0;
  void *outputs[] = {&value};
  EXPECT_FALSE(executable->run(nullptr, outputs, nullptr, 1, error));
  EXPECT_NE(error.text.find(std::to_string(int64_t(1) << 46)), std::string::npos) << error.text;
  EXPECT_EQ(error.kind, RunError::Kind::OutOfMemory);
}

TEST(Executor, OperandsOutsideOfTheirBufferAreRefused) {
  plan::Plan plan = chainPlan();
  plan.steps[2].operands[1].offset = Expr::constant(5);
  RunError error;
  auto executable = Executable::create(plan, {{addOne, ""}, {reverse, ""}}, {}, error.text);
  ASSERT_TRUE(executable) << error.text;
  float value = 0;
  const void *inputs[] = {&value};
  void *outputs[] = {&value};
  int64_t length = 1;
  EXPECT_FALSE(executable->run(inputs, outputs, &length, 1, error));
  EXPECT_NE(error.text.find("starts at byte 5"), std::string::npos) << error.text;
}

TEST(Executor, ConcurrentCallersDoNotShareArenas) {
  auto executable = chainExecutable();
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&, i] {
      for (int k = 0; k < 100; ++k)
        expectChain(*executable, 1000 + 100 * i + k % 12, 1 + k % 2);
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(Executor, CopiesAndConstants) {
  plan::Plan plan;
  plan.numOutputs = 1;
  int64_t bytes = 3 << 20;
  for (int64_t i = 0; i < bytes; ++i)
    plan.constants.push_back(uint8_t(i * 7));
  int32_t constant = addBuffer(plan, Buffer::Kind::Constant, 0, Expr::constant(bytes)),
          arena = addBuffer(plan, Arena, 0, Expr::constant(bytes)),
          out = addBuffer(plan, Out, 0, Expr::constant(bytes));
  plan::Step copy;
  copy.kind = plan::Step::Kind::Copy;
  copy.bytes = Expr::constant(bytes);
  copy.operands = {{constant, {}}, {arena, {}}};
  plan.steps.push_back(copy);
  copy.operands = {{arena, {}}, {out, {}}};
  plan.steps.push_back(copy);
  std::vector<uint8_t> expected = plan.constants;
  RunError error;
  auto executable = Executable::create(std::move(plan), {}, {}, error.text);
  ASSERT_TRUE(executable) << error.text;
  for (int threads : {1, 2}) {
    std::vector<uint8_t> result(bytes);
    void *outputs[] = {result.data()};
    ASSERT_TRUE(executable->run(nullptr, outputs, nullptr, threads, error)) << error.text;
    EXPECT_EQ(result, expected);
  }
}

TEST(Executor, FailingHostFunctionStopsAllThreads) {
  plan::Plan plan = chainPlan();
  plan.hostFunctions = {"fail"};
  plan::Step host;
  host.kind = plan::Step::Kind::Host;
  host.operands = {{1, {}}};
  plan.steps.insert(plan.steps.begin() + 1, host);
  HostFunction fail{[](void *context, void *const *, const int64_t *) -> const char * {
                      return *static_cast<bool *>(context) ? "no network" : nullptr;
                    },
                    nullptr};
  bool failing = true;
  fail.context = &failing;
  RunError error;
  auto executable = Executable::create(plan, {{addOne, ""}, {reverse, ""}}, {fail}, error.text);
  ASSERT_TRUE(executable) << error.text;
  for (int i = 0; i < 100; ++i) {
    failing = i % 2;
    std::vector<float> in(100), out(100);
    const void *inputs[] = {in.data()};
    void *outputs[] = {out.data()};
    int64_t length = 100;
    EXPECT_EQ(executable->run(inputs, outputs, &length, 1 + i % 4 / 2, error), !failing);
    if (failing)
      EXPECT_NE(error.text.find("'fail' failed: no network"), std::string::npos) << error.text;
  }
}

//===----------------------------------------------------------------------===//
// Packed parameters
//===----------------------------------------------------------------------===//

/// out = in + (weight + 1) for 4096 floats; weight + 1 is packed once.
static plan::Plan packPlan() {
  plan::Plan plan;
  plan.numInputs = 2;
  plan.numOutputs = 1;
  plan.kernels = {"pack", "add_packed"};
  Expr bytes = Expr::constant(4096 * 4);
  int32_t in = addBuffer(plan, In, 0, bytes), weight = addBuffer(plan, In, 1, bytes),
          packed = addBuffer(plan, Packed, 0, bytes), out = addBuffer(plan, Out, 0, bytes);
  plan.once = {launchStep(0, {weight, packed}, 2, Expr::constant(4096))};
  plan.steps = {launchStep(1, {in, packed, out}, 4, Expr::constant(4096))};
  plan.steps[0].scratchBytes = Expr::constant(4);
  return plan;
}

struct PackFixture : testing::Test {
  std::unique_ptr<Executable> make(const char *identity = "") {
    auto executable = Executable::create(packPlan(), {{addOne, identity}, {addPacked, ""}}, {}, error.text);
    EXPECT_TRUE(executable) << error.text;
    return executable;
  }
  /// Runs `executable` and checks that every element of the result is `expected`.
  void expectSum(Executable &executable, float expected, int threads = 2) {
    const void *inputs[] = {in.data(), frozen ? nullptr : weight.data()};
    InputIdentity identities[] = {{in.data(), 0}, {inputs[1], version}};
    std::vector<float> out(4096);
    void *outputs[] = {out.data()};
    ASSERT_TRUE(executable.run(inputs, outputs, nullptr, threads, error, identities)) << error.text;
    for (float value : out)
      ASSERT_EQ(value, expected);
  }
  std::vector<float> in = std::vector<float>(4096, 10), weight = std::vector<float>(4096, 1);
  uint64_t version = 0;
  bool frozen = false;
  RunError error;
};

TEST_F(PackFixture, PacksOnceAndAgainAfterAChange) {
  auto executable = make();
  expectSum(*executable, 12);
  expectSum(*executable, 12, 1);
  EXPECT_EQ(executable->packCount(), 1);
  EXPECT_EQ(executable->packedBytes(), 4096 * 4);
  weight.assign(4096, 2); // like p.data.add_(1), which does not increment the version
  expectSum(*executable, 13);
  EXPECT_EQ(executable->packCount(), 2);
  ++version;
  expectSum(*executable, 13);
  EXPECT_EQ(executable->packCount(), 3);
  std::vector<float> moved(4096, 5);
  moved.swap(weight);
  expectSum(*executable, 16);
  EXPECT_EQ(executable->packCount(), 4);
}

/// A parameter that is being trained changes before every call, so its pack is not retained between calls.
TEST_F(PackFixture, PacksOfChangingInputsServeOneCall) {
  auto executable = make();
  expectSum(*executable, 12);
  EXPECT_EQ(executable->packedBytes(), 4096 * 4); // the parameter has not changed yet
  for (int step = 0; step < 3; ++step) {
    ++version;
    weight.assign(4096, 2 + step);
    expectSum(*executable, 13 + step);
    EXPECT_EQ(executable->packedBytes(), 0);
  }
  EXPECT_EQ(executable->packCount(), 4);
  expectSum(*executable, 15); // the parameter is no longer trained: it is packed once more, and the pack is retained
  EXPECT_EQ(executable->packCount(), 5);
  EXPECT_EQ(executable->packedBytes(), 4096 * 4);
  expectSum(*executable, 15);
  EXPECT_EQ(executable->packCount(), 5);
}

/// If a parameter changes, the outdated packs in other executables (of the same model for other sizes) are freed.
TEST_F(PackFixture, OutdatedPacksOfOthersAreReleased) {
  auto first = make("code-trained"), second = make("code-trained");
  expectSum(*first, 12);
  EXPECT_EQ(first->packedBytes(), 4096 * 4);
  for (int step = 0; step < 2; ++step) {
    ++version;
    expectSum(*second, 12);
  }
  EXPECT_EQ(first->packedBytes(), 0);
  EXPECT_EQ(second->packedBytes(), 0);
  expectSum(*first, 12);
  weight.assign(4096, 7);
  ++version;
  expectSum(*first, 18);
}

TEST_F(PackFixture, RepackIgnoresUnchangedStamps) {
  auto executable = make();
  expectSum(*executable, 12);
  executable->repack();
  expectSum(*executable, 12);
  EXPECT_EQ(executable->packCount(), 2);
  expectSum(*executable, 12);
  EXPECT_EQ(executable->packCount(), 2);
}

TEST_F(PackFixture, ReleasedOriginals) {
  auto executable = make();
  const void *inputs[] = {in.data(), nullptr};
  std::vector<float> out(4096);
  void *outputs[] = {out.data()};
  EXPECT_FALSE(executable->run(inputs, outputs, nullptr, 1, error));
  EXPECT_NE(error.text.find("released, and there is no pack of it"), std::string::npos) << error.text;
  EXPECT_EQ(error.kind, RunError::Kind::ReleasedParameter);
  EXPECT_EQ(error.input, 1u);

  // A released parameter is identified by its number. Its packs exist as long as there is a reference to them.
  std::vector<std::shared_ptr<const PackedSet>> kept;
  auto release = [&](int32_t input, const void *data, uint64_t number, auto packs) {
    EXPECT_EQ(input, 1);
    EXPECT_EQ(data, weight.data());
    version = number;
    kept = packs;
    return true;
  };
  executable = make("code-released");
  EXPECT_EQ(executable->packedInputs(), std::vector<bool>({false, true}));
  executable->onPacked(release);
  expectSum(*executable, 12);
  EXPECT_EQ(kept.size(), 1u);
  frozen = true;
  executable->repack();
  expectSum(*executable, 12);
  EXPECT_EQ(executable->packCount(), 1);

  // Another executable finds the pack by the number of the released parameter, and does not find it by another number.
  executable = nullptr;
  auto second = make("code-released");
  expectSum(*second, 12);
  EXPECT_EQ(second->packCount(), 0);
  InputIdentity other[] = {{in.data(), 0}, {nullptr, version + 1}};
  EXPECT_FALSE(second->run(inputs, outputs, nullptr, 1, error, other));
  second = nullptr;
  kept.clear();
  InputIdentity gone[] = {{in.data(), 0}, {nullptr, version}};
  EXPECT_FALSE(make("code-released")->run(inputs, outputs, nullptr, 1, error, gone));
}

/// Runs `executable` and returns the memory of its pack, which the onPacked() callback receives.
static const void *packMemory(PackFixture &fixture, Executable &executable, float expected) {
  const void *memory = nullptr;
  executable.onPacked([&](int32_t, const void *, uint64_t, auto packs) {
    memory = packs.front()->memory->data();
    return false;
  });
  fixture.expectSum(executable, expected);
  return memory;
}

TEST_F(PackFixture, EqualKernelsShareOnePack) {
  auto first = make("code-1"), second = make("code-1"), other = make("code-2");
  const void *shared = packMemory(*this, *first, 12);
  EXPECT_NE(shared, nullptr);
  EXPECT_EQ(packMemory(*this, *second, 12), shared);
  EXPECT_NE(packMemory(*this, *other, 12), shared);
}

// A new tensor may have the address of a freed one, and differ only in bytes that the fingerprint does not read.
TEST_F(PackFixture, EqualFingerprintsDoNotShareAPack) {
  auto first = make("code-1"), second = make("code-1");
  const void *shared = packMemory(*this, *first, 12);
  uint64_t before = fingerprint(weight.data(), 4096 * 4);
  size_t unseen = 0;
  for (size_t i = 0; i < weight.size() && !unseen; ++i) {
    weight[i] = 7;
    if (fingerprint(weight.data(), 4096 * 4) == before)
      unseen = i;
    else
      weight[i] = 1;
  }
  ASSERT_NE(unseen, 0u);
  const void *inputs[] = {in.data(), weight.data()};
  InputIdentity identities[] = {{in.data(), 0}, {weight.data(), version}};
  std::vector<float> out(4096);
  void *outputs[] = {out.data()};
  ASSERT_TRUE(second->run(inputs, outputs, nullptr, 2, error, identities)) << error.text;
  EXPECT_EQ(out[unseen], 18);
  EXPECT_NE(shared, nullptr);
}

TEST_F(PackFixture, ConcurrentCallersWithDifferentWeights) {
  auto executable = make();
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&, i] {
      std::vector<float> mine(4096, float(i)), out(4096);
      for (int k = 0; k < 100; ++k) {
        const void *inputs[] = {in.data(), mine.data()};
        void *outputs[] = {out.data()};
        RunError problem;
        ASSERT_TRUE(executable->run(inputs, outputs, nullptr, 1 + k % 2, problem)) << problem.text;
        for (float value : out)
          ASSERT_EQ(value, float(11 + i));
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(Packing, FingerprintSeesFirstAndLastBytes) {
  std::vector<uint8_t> data(100001);
  uint64_t before = fingerprint(data.data(), int64_t(data.size()));
  for (size_t at : {size_t(0), data.size() - 1}) {
    data[at] ^= 1;
    EXPECT_NE(fingerprint(data.data(), int64_t(data.size())), before);
    data[at] ^= 1;
  }
  EXPECT_EQ(fingerprint(data.data(), int64_t(data.size())), before);
  EXPECT_EQ(fingerprint(nullptr, 0), fingerprint(data.data(), 0));
}

/// Computes addOne(). If an element is 7 or more, stores it in the status in `scratch`, as the check of an index does.
static void checkIndex(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end, void *scratch) {
  auto *status = static_cast<int64_t *>(scratch);
  for (int64_t i = begin; i < end; ++i)
    if (static_cast<const float *>(buffers[0])[i] >= 7) {
      status[0] = 1;
      status[1] = int64_t(static_cast<const float *>(buffers[0])[i]);
      status[2] = 7;
    }
  addOne(buffers, sizes, begin, end, scratch);
}

TEST(Executor, IndexOutOfRangeFailsTheCallAndOnlyThat) {
  plan::Plan plan = chainPlan();
  plan.kernels.push_back("check");
  plan.steps[2].callee = 2;
  plan.steps[2].checks = true;
  plan.steps[2].label = "gather";
  RunError error;
  auto executable = Executable::create(plan, {{addOne, ""}, {reverse, ""}, {checkIndex, ""}}, {}, error.text);
  ASSERT_TRUE(executable) << error.text;
  for (int threads : {1, 2})
    for (float last : {5.0f, 41.0f, 5.0f}) {
      std::vector<float> in(1000, 1.0f), out(1000);
      in.back() = last;
      const void *inputs[] = {in.data()};
      void *outputs[] = {out.data()};
      int64_t length = 1000;
      bool ok = executable->run(inputs, outputs, &length, threads, error);
      EXPECT_EQ(ok, last < 7) << error.text;
      if (!ok) {
        EXPECT_EQ(error.text, "index 42 is out of range for a dimension of size 7, in gather");
        EXPECT_EQ(error.kind, RunError::Kind::IndexOutOfRange);
        EXPECT_EQ(error.step, 2u);
      }
      EXPECT_EQ(out[0], last + 2); // the step with the error has computed its results
    }
}
