//===- TensorMapRecipeTest.cpp - tensor maps of launches, and invalid tables of kernels ---===//
#include "lib/Runtime/CUDA/EmulatedDevice.h"

#include <gtest/gtest.h>

using namespace tilewright;

static TensorMapRecipe recipeOf(const std::string &text) {
  TensorMapRecipe recipe;
  EXPECT_TRUE(TensorMapRecipe::read(text, recipe)) << text;
  return recipe;
}

TEST(TensorMapRecipe, RoundTrips) {
  for (std::string text :
       {"0:bf16:128:64*512,128*1*s0", "3:f16:64:32*8", "0:i8:128:128*1024,256*3", "2:f32:128:32*512,64*8",
        "1:bf16:0:1*0*s1*s1*s0,2*3,4*5,6*7,8*9", "0:bf16:128:96p:64*256,1*14/2@-1@0,1*15/1@0@-2,1*2*s0",
        "1:f16:128:1024p:64*64,1*14/8@-32768@32767,1*1", "0:bf16:128:1p:64*8,1*9/1@-16@15,1*9/1@0@0,1*9/1@0@0,1*4"})
    EXPECT_EQ(recipeOf(text).text(), text);
}

TEST(TensorMapRecipe, MalformedTextIsRefused) {
  for (const char *text : {"",
                           ":",
                           "0",
                           "0:bf16",
                           "0:bf16:128",
                           "0:bf16:128:",
                           "0:f64:128:64*512",
                           "-1:bf16:128:64*512",
                           "0:bf16:96:64*512",
                           "0:bf16:128:0*512",
                           "0:bf16:128:257*512",
                           "0:bf16:128:64",
                           "0:bf16:128:64*-1",
                           "0:bf16:128:64*4294967296",
                           "0:bf16:128:64*512*0",
                           "0:bf16:128:64*512*s",
                           "0:bf16:128:64*512*s-1",
                           "0:bf16:128:64*512*s99999999999",
                           "0:bf16:128:64*512,,64*1",
                           "0:bf16:128:1*1,1*1,1*1,1*1,1*1,1*1",
                           "0:bf16:128:64*512 ",
                           "99999999999:bf16:128:64*512",
                           "0:bf16:128:0x40*512",
                           "0:bf16:128:0p:64*256,1*14/1@0@0,1*2",
                           "0:bf16:128:1025p:64*256,1*14/1@0@0,1*2",
                           "0:bf16:128:8:64*256,1*14/1@0@0,1*2",
                           "0:bf16:128:8p:64*256,1*14,1*2",
                           "0:bf16:128:8p:64*256,1*2",
                           "0:bf16:128:8p:64*256,1*14/0@0@0,1*2",
                           "0:bf16:128:8p:64*256,1*14/9@0@0,1*2",
                           "0:bf16:128:8p:64*256,1*14/1@0,1*2",
                           "0:bf16:128:8p:64*256,1*14/1@-32769@0,1*2",
                           "0:bf16:128:8p:64*256,1*14/1@0@128,1*14/1@0@0,1*2",
                           "0:bf16:128:8p:64*256,1*9/1@-17@0,1*9/1@0@0,1*9/1@0@0,1*4",
                           "0:bf16:128:64*256,1*14/1@0@0,1*2"}) {
    TensorMapRecipe recipe;
    EXPECT_FALSE(TensorMapRecipe::read(text, recipe)) << text;
  }
  std::string many = "0:bf16:128:64*1";
  for (int i = 0; i < 1000; ++i)
    many += "*s0";
  TensorMapRecipe recipe;
  EXPECT_FALSE(TensorMapRecipe::read(many, recipe));
}

TEST(TensorMapRecipe, SizesAreEvaluatedAtTheCall) {
  std::vector<uint32_t> counts;
  std::string error;
  const int64_t sizes[] = {7, 0};
  ASSERT_TRUE(recipeOf("0:bf16:128:64*512,128*3*s0,1*2*s1").elements(sizes, counts, error));
  EXPECT_EQ(counts, (std::vector<uint32_t>{512, 21, 1})); // nothing is loaded from an empty tensor
  for (int64_t size : {int64_t(-1), int64_t(1) << 32, INT64_MAX}) {
    EXPECT_FALSE(recipeOf("0:bf16:128:64*1*s0").elements(&size, counts, error));
    EXPECT_NE(error.find("more elements in a dimension than the 4294967295"), std::string::npos);
  }
}

/// Returns a device with one launch of `kernel_0`, which has a buffer of 1024 bytes and one size.
static std::unique_ptr<runtime::EmulatedDevice> deviceWith(const std::string &recipe, uint32_t shared,
                                                           std::string &error) {
  plan::Plan plan;
  plan.numInputs = plan.numOutputs = 1;
  plan.symbols = {{"n", 1, 4096}};
  plan.buffers = {{plan::Buffer::Kind::Input, 0, plan::Expr::constant(1024), false},
                  {plan::Buffer::Kind::Output, 0, plan::Expr::constant(1024), false}};
  plan.kernels = {"kernel_0"};
  plan::Step launch;
  launch.operands = {{0, {}}, {1, {}}};
  launch.writes = 2;
  launch.sizes = {plan::Expr::symbol(0)};
  launch.grid = plan::Expr::constant(1);
  plan.steps = {launch};
  runtime::GridKernel kernel;
  kernel.name = "kernel_0";
  kernel.threads = 32;
  kernel.shared = shared;
  kernel.maps.push_back(recipeOf(recipe));
  auto grids = runtime::GridPlan::create(plan, {kernel}, error);
  if (!grids)
    return nullptr;
  return runtime::EmulatedDevice::create(std::move(grids),
                                         ".version 8.3\n.target sm_90a\n.address_size 64\n"
                                         ".visible .entry kernel_0(.param .u64 a, .param .u64 b, .param .u64 n,\n"
                                         "  .param .align 64 .b8 map[128]) { ret; }\n",
                                         error);
}

static std::string errorOfRun(const std::string &recipe, uint32_t shared, int64_t size) {
  RunError error;
  auto device = deviceWith(recipe, shared, error.text);
  if (!device)
    return "not loaded: " + error.text;
  alignas(16) static uint8_t in[1024], out[1024];
  const void *inputs[] = {in};
  void *outputs[] = {out};
  return device->run(inputs, outputs, &size, error) ? "" : error.text;
}

TEST(TensorMapRecipe, LaunchesReferToExistingMaps) {
  EXPECT_EQ(errorOfRun("0:bf16:128:64*64,8*1*s0", 1024, 8), "");
  EXPECT_NE(errorOfRun("2:bf16:128:64*64,8*1*s0", 1024, 8).find("not loaded: a tensor map refers to a buffer or size"),
            std::string::npos);
  EXPECT_NE(errorOfRun("0:bf16:128:64*64,8*1*s1", 1024, 8).find("not loaded: a tensor map refers to a buffer or size"),
            std::string::npos);
}

TEST(TensorMapRecipe, MapsThatTheDriverRefusesFailTheLaunch) {
  EXPECT_NE(errorOfRun("0:bf16:128:64*65,8*1*s0", 1024, 8)
                .find("kernel kernel_0 cannot be launched: the tensor map's "
                      "stride"),
            std::string::npos);
  EXPECT_NE(errorOfRun("0:bf16:128:32*64,8*1*s0", 1024, 8).find("fewer than its swizzle"), std::string::npos);
  EXPECT_EQ(errorOfRun("0:bf16:128:8p:64*64,1*1*s0/1@0@0,1*1", 1024, 8), "");
  EXPECT_NE(errorOfRun("0:bf16:128:8p:64*64,1*1*s0/1@4@-6,1*1", 1024, 8).find("bounding box of dimension 1 is empty"),
            std::string::npos);
  EXPECT_NE(errorOfRun("0:bf16:128:64*4294967288,8*4294967288,1*4294967288", 1024, 8).find("cannot be launched"),
            std::string::npos);
}

TEST(TensorMapRecipe, SharedMemoryIsBounded) {
  EXPECT_EQ(errorOfRun("0:bf16:128:64*64,8*1*s0", 232448, 8), "");
  EXPECT_NE(errorOfRun("0:bf16:128:64*64,8*1*s0", 232449, 8).find("but a block on sm_90a has at most 232448"),
            std::string::npos);
  EXPECT_NE(errorOfRun("0:bf16:128:64*64,8*1*s0", UINT32_MAX, 8).find("has at most 232448"), std::string::npos);
}
