//===- SerializeTest.cpp - plan images ------------------------------------===//
#include "lib/Interfaces/RuntimeABI.h"
#include "lib/Runtime/Plan/Hash.h"
#include "lib/Runtime/Plan/Plan.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright::plan;

static Plan examplePlan() {
  Plan plan;
  plan.numInputs = 2;
  plan.numOutputs = 1;
  plan.symbols = {{"batch", 1, 4096}};
  plan.guards = {{Expr::symbol(0), Expr::constant(17), false, "join: batch must be 17"},
                 {Expr::symbol(0), Expr::constant(3), true, "cut: batch must be at least 3"}};
  Expr rows{{{Expr::Op::Symbol, 0}, {Expr::Op::Const, 64}, {Expr::Op::Mul}}};
  plan.buffers = {{Buffer::Kind::Input, 0, rows, true},
                  {Buffer::Kind::Input, 1, Expr::constant(4096), false},
                  {Buffer::Kind::Packed, 0, Expr::constant(4096), false},
                  {Buffer::Kind::Arena, 0, rows, false},
                  {Buffer::Kind::Output, 0, rows, false},
                  {Buffer::Kind::Constant, 64, Expr::constant(8), false}};
  plan.kernels = {"pack", "kernel_0"};
  plan.hostFunctions = {"log"};
  plan.constants.resize(72);
  for (size_t i = 0; i < plan.constants.size(); ++i)
    plan.constants[i] = uint8_t(i);
  Step pack, launch, copy, host;
  pack.operands = {{1, {}}, {2, {}}};
  pack.writes = 2;
  pack.grid = Expr::constant(1);
  pack.label = "weight";
  plan.once = {pack};
  launch.callee = 1;
  launch.operands = {{0, {}}, {2, {}}, {5, {}}, {3, Expr::constant(0)}};
  launch.writes = 8;
  launch.sizes = {Expr::symbol(0)};
  launch.grid = rows;
  launch.scratchBytes = Expr::constant(100);
  launch.checks = true;
  copy.kind = Step::Kind::Copy;
  copy.operands = {{3, {}}, {4, {}}};
  copy.bytes = rows;
  host.kind = Step::Kind::Host;
  host.operands = {{4, {}}};
  plan.steps = {launch, copy, host};
  return plan;
}

TEST(Serialize, RoundTrip) {
  Plan plan = examplePlan(), read;
  ASSERT_EQ(verify(plan), "");
  std::vector<uint8_t> image = serialize(plan);
  std::string error;
  ASSERT_TRUE(deserialize(image.data(), image.size(), read, error)) << error;
  EXPECT_EQ(verify(read), "");
  EXPECT_EQ(serialize(read), image);
  EXPECT_EQ(read.symbols[0].name, "batch");
  ASSERT_EQ(read.guards.size(), 2u);
  EXPECT_EQ(read.guards[0].text, "join: batch must be 17");
  EXPECT_FALSE(read.guards[0].atLeast);
  EXPECT_TRUE(read.guards[1].atLeast);
  EXPECT_TRUE(read.buffers[0].inPlace);
  EXPECT_EQ(read.once[0].label, "weight");
  EXPECT_EQ(read.constants, plan.constants);
  EXPECT_EQ(read.steps[1].kind, Step::Kind::Copy);
  EXPECT_TRUE(read.steps[0].checks);
  EXPECT_FALSE(read.steps[1].checks);
}

TEST(Guards, TheFirstThatDoesNotHoldIsReported) {
  Plan plan = examplePlan();
  int64_t batch = 17;
  EXPECT_EQ(brokenGuard(plan, &batch), "");
  batch = 9;
  EXPECT_EQ(brokenGuard(plan, &batch),
            "the sizes of the inputs do not fit the model: join: batch must be 17; here it is 9");
  plan.guards.erase(plan.guards.begin());
  EXPECT_EQ(brokenGuard(plan, &batch), "");
  batch = 2;
  EXPECT_NE(brokenGuard(plan, &batch).find("cut: batch must be at least 3; here it is 2"), std::string::npos);
  plan.guards = {
      {{{{Expr::Op::Const, 1}, {Expr::Op::Symbol, 0}, {Expr::Op::FloorDiv}}}, Expr::constant(1), false, "part"}};
  batch = 0;
  EXPECT_NE(brokenGuard(plan, &batch).find("division by zero"), std::string::npos);
  plan.guards[0].lhs = Expr::symbol(1);
  EXPECT_NE(verify(plan).find("guard (part): a size"), std::string::npos);
}

TEST(Serialize, TruncationAtEveryByteIsDetected) {
  std::vector<uint8_t> image = serialize(examplePlan());
  for (size_t size = 0; size < image.size(); ++size) {
    std::vector<uint8_t> cut(image.begin(), image.begin() + size); // a separate block, so sanitizers detect overruns
    Plan read;
    std::string error;
    EXPECT_FALSE(deserialize(cut.data(), cut.size(), read, error));
    EXPECT_NE(error, "");
  }
}

TEST(Serialize, EveryBitFlipIsDetected) {
  std::vector<uint8_t> image = serialize(examplePlan());
  for (size_t bit = 0; bit < image.size() * 8; ++bit) {
    std::vector<uint8_t> altered = image;
    altered[bit / 8] ^= uint8_t(1 << bit % 8);
    Plan read;
    std::string error;
    EXPECT_FALSE(deserialize(altered.data(), altered.size(), read, error)) << "bit " << bit;
    EXPECT_NE(error, "");
  }
}

TEST(Serialize, ForeignVersionIsReported) {
  std::vector<uint8_t> image = serialize(examplePlan());
  image[8] = TILEWRIGHT_ABI_VERSION + 1;
  Plan read;
  std::string error;
  EXPECT_FALSE(deserialize(image.data(), image.size(), read, error));
  EXPECT_NE(error.find("version"), std::string::npos);
}

// An image with a valid hash may be damaged. Reading such an image must return a plan or an error, and verify() must
// not crash.
TEST(Serialize, DamageWithAValidHashDoesNotCrash) {
  std::vector<uint8_t> image = serialize(examplePlan());
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> altered = image;
    for (int i = 0; i < 3; ++i)
      altered[24 + random() % (altered.size() - 32)] = random() % 3 ? uint8_t(random()) : 0xFF;
    uint64_t hash = hashBytes(altered.data(), altered.size() - 8);
    memcpy(altered.data() + altered.size() - 8, &hash, 8);
    Plan read;
    std::string error;
    if (deserialize(altered.data(), altered.size(), read, error))
      verify(read);
    else
      EXPECT_NE(error, "");
  }
}

TEST(Verify, RefusalsNameTheCause) {
  auto expectError = [](auto &&change, const char *text) {
    Plan plan = examplePlan();
    change(plan);
    std::string error = verify(plan);
    EXPECT_NE(error.find(text), std::string::npos) << "expected '" << text << "' in: " << error;
  };
  expectError([](Plan &plan) { plan.steps[0].callee = 2; }, "no callee 2");
  expectError([](Plan &plan) { plan.steps[0].operands[0].buffer = 6; }, "no buffer 6");
  expectError([](Plan &plan) { plan.buffers[0].index = 2; }, "no input 2");
  expectError([](Plan &plan) { plan.steps.erase(plan.steps.begin()); }, "before it is written");
  expectError([](Plan &plan) { plan.steps[0].writes = 2 | 8; }, "once steps write only packed buffers");
  expectError([](Plan &plan) { plan.steps[0].writes = 1 | 4 | 8; }, "writes constant");
  expectError([](Plan &plan) { plan.buffers[0].inPlace = false, plan.steps[0].writes = 1 | 8; },
              "not declared in place");
  expectError([](Plan &plan) { plan.once[0].grid = Expr::symbol(0); }, "depends on a symbol");
  expectError([](Plan &plan) { plan.once.clear(); }, "before it is written");
  expectError([](Plan &plan) { plan.steps[0].grid = {}; }, "its grid is missing");
  expectError([](Plan &plan) { plan.buffers[5].bytes = Expr::constant(9); }, "outside of the plan's 72 bytes");
  expectError([](Plan &plan) { plan.symbols[0].max = 0; }, "range is empty");
  expectError([](Plan &plan) { plan.steps[0].writes = 16; }, "does not have");
}
