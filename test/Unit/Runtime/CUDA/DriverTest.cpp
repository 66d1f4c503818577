//===- DriverTest.cpp - calls with GPU tensors on the fake driver ---------------------------===//
#include "test/Unit/Runtime/CUDA/FakeDriver.h"
#include <cmath>
#include <cstring>

namespace tilewright {
namespace {

constexpr char doubled[] = R"(
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = tw.add %x, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> loc("layer.py":12:0)
    return %0 : tensor<64xf32>
  })";

constexpr char embedding[] = R"(
  func.func @main(%table: tensor<5x16xf32>, %indices: tensor<4xi64>) -> tensor<4x16xf32> {
    %0 = tw.take %table[%indices] {dim = 0 : i64}
      : (tensor<5x16xf32>, tensor<4xi64>) -> tensor<4x16xf32> loc("layer.py":7:0)
    return %0 : tensor<4x16xf32>
  })";

using Driver = DriverTest;

TEST_F(Driver, TensorsOfTheDeviceStayThere) {
  auto program = compile(doubled);
  ASSERT_TRUE(program) << refusal;
  DeviceTensor<float> in(fake, numbers(64)), out(fake, std::vector<float>(64, 7));
  fake.set("");
  ASSERT_TRUE(run(*program, {in.data()}, {out.data()})) << error.text;
  EXPECT_EQ(out.now()[5], 7) << "nobody waited for the stream";
  EXPECT_EQ(out.wait()[5], 4);
  EXPECT_EQ(fake.count("cuLaunchKernel"), 1);
  EXPECT_EQ(fake.count("cuMemcpyHtoDAsync_v2"), 0);
  EXPECT_EQ(fake.count("cuStreamSynchronize"), 1) << "the test's own";
}

TEST_F(Driver, TensorsOfTheHostAreCopied) {
  auto program = compile(doubled);
  ASSERT_TRUE(program) << refusal;
  std::vector<float> in = numbers(64), out(64);
  ASSERT_TRUE(run(*program, {in.data()}, {out.data()})) << error.text;
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 2 * in[i]);
}

TEST_F(Driver, TensorsAtOddAddressesAreCopied) {
  auto program = compile(doubled);
  ASSERT_TRUE(program) << refusal;
  DeviceTensor<float> in(fake, numbers(66)), out(fake, std::vector<float>(66, 7));
  ASSERT_TRUE(run(*program, {in.data() + 1}, {out.data() + 1})) << error.text;
  std::vector<float> got = out.wait();
  EXPECT_EQ(got[0], 7);
  EXPECT_EQ(got[65], 7);
  for (size_t i = 1; i < 65; ++i)
    EXPECT_EQ(got[i], 2 * (float(i) - 3));
}

TEST_F(Driver, StreamAndMemoryOfTheCallerAreUsed) {
  auto program = compile(embedding);
  ASSERT_TRUE(program) << refusal;
  DeviceTensor<float> table(fake, numbers(80)), out(fake, std::vector<float>(64, 7));
  DeviceTensor<int64_t> indices(fake, {4, 0, 1, 1});
  Caller caller(fake);
  fake.set("");
  ASSERT_TRUE(run(*program, {table.data(), indices.data()}, {out.data()}, &caller)) << error.text;
  EXPECT_GT(caller.asked, 0) << "for the status";
  EXPECT_EQ(fake.count("cuMemAllocAsync"), 0);
  EXPECT_EQ(out.wait()[0], 7) << "the default stream has nothing to do";
  fake.synchronize(0x10);
  EXPECT_EQ(out.now()[0], 61);
  EXPECT_EQ(out.now()[16], -3);
}

TEST_F(Driver, AnIndexOutOfRangeIsReportedByALaterCall) {
  auto program = compile(embedding);
  ASSERT_TRUE(program) << refusal;
  DeviceTensor<float> table(fake, numbers(80)), out(fake, std::vector<float>(64, 7));
  DeviceTensor<int64_t> bad(fake, {4, 5, 1, 1}), good(fake, {4, 0, 1, 1});
  EXPECT_TRUE(run(*program, {table.data(), bad.data()}, {out.data()})) << "nobody has waited: " << error.text;
  int calls = 0;
  while (calls < 5 && run(*program, {table.data(), good.data()}, {out.data()}))
    ++calls;
  EXPECT_LT(calls, 5);
  EXPECT_EQ(error.text, "index 5 is out of range for a dimension of size 5, in take (layer.py:7)");
  EXPECT_EQ(error.kind, RunError::Kind::IndexOutOfRange);
  EXPECT_TRUE(run(*program, {table.data(), good.data()}, {out.data()})) << "the error is reported once: " << error.text;
}

TEST_F(Driver, AnIndexOutOfRangeIsReportedAtOnceIfTheCallWaits) {
  auto program = compile(embedding);
  ASSERT_TRUE(program) << refusal;
  std::vector<float> table = numbers(80), out(64);
  int64_t indices[] = {1, 2, -9, 0};
  EXPECT_FALSE(run(*program, {table.data(), indices}, {out.data()}));
  EXPECT_EQ(error.text, "index -9 is out of range for a dimension of size 5, in take (layer.py:7)");
}

TEST_F(Driver, AFailureIsReportedWithTheKernelsOrigin) {
  auto program = compile(doubled);
  ASSERT_TRUE(program) << refusal;
  DeviceTensor<float> in(fake, numbers(64)), out(fake, std::vector<float>(64, 7));
  fake.set("fail=cuLaunchKernel:1:701");
  EXPECT_FALSE(run(*program, {in.data()}, {out.data()}));
  EXPECT_EQ(error.text.find("kernel add_64 cannot be launched on cuda:0 (Fake GPU, sm_80): CUDA_ERROR_LAUNCH_OUT_OF_"
                            "RESOURCES"),
            0u)
      << error.text;
  EXPECT_TRUE(llvm::StringRef(error.text).ends_with("kernel add_64 is launched by add (layer.py:12)")) << error.text;
  // A kernel that fails during execution corrupts the context, so that every later call returns the same error.
  fake.set("fault=add_64");
  EXPECT_TRUE(run(*program, {in.data()}, {out.data()})) << error.text;
  fake.synchronize(0);
  EXPECT_FALSE(run(*program, {in.data()}, {out.data()}));
  EXPECT_NE(error.text.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << error.text;
  EXPECT_NE(error.text.find("CUDA_LAUNCH_BLOCKING=1"), std::string::npos) << error.text;
}

TEST_F(Driver, OutOfMemoryIsReported) {
  auto program = compile(doubled);
  ASSERT_TRUE(program) << refusal;
  std::vector<float> in = numbers(64), out(64);
  fake.set("fail=cuMemAllocAsync:1:2");
  EXPECT_FALSE(run(*program, {in.data()}, {out.data()}));
  EXPECT_EQ(error.text.find("out of memory: this call needs 512 bytes on cuda:0"), 0u) << error.text;
  EXPECT_EQ(error.kind, RunError::Kind::OutOfMemory);
  EXPECT_TRUE(run(*program, {in.data()}, {out.data()})) << error.text;
}

TEST_F(Driver, TensorsOfAnotherDeviceAreRefused) {
  auto program = compile(doubled);
  ASSERT_TRUE(program) << refusal;
  DeviceTensor<float> here(fake, numbers(64)), there(fake, numbers(64), 1);
  EXPECT_FALSE(run(*program, {there.data()}, {here.data()}));
  EXPECT_EQ(error.text, "input 0 is on cuda:1; the program runs on cuda:0 (Fake GPU, sm_80): move it there");
  auto second = compile(doubled, "cuda:1");
  ASSERT_TRUE(second) << refusal;
  DeviceTensor<float> out(fake, std::vector<float>(64, 7), 1);
  EXPECT_TRUE(run(*second, {there.data()}, {out.data()})) << error.text;
  EXPECT_EQ(out.wait()[5], 4);
  EXPECT_FALSE(compile(doubled, "cuda:2"));
  EXPECT_NE(refusal.find("there is no device cuda:2; the driver finds 2"), std::string::npos) << refusal;
}

TEST_F(Driver, EverythingIsReleased) {
  const std::string before = fake.held();
  {
    auto program = compile(embedding);
    ASSERT_TRUE(program) << refusal;
    std::vector<float> table = numbers(80), out(64);
    int64_t good[] = {1, 2, 3, 0}, bad[] = {1, 2, 3, 9};
    for (int64_t *indices : {good, bad, good})
      run(*program, {table.data(), indices}, {out.data()});
    DeviceTensor<float> onDevice(fake, numbers(80)), result(fake, std::vector<float>(64));
    for (int i = 0; i < 3; ++i)
      run(*program, {onDevice.data(), good}, {result.data()});
    EXPECT_NE(fake.held(), before);
  }
  fake.synchronize(0);
  EXPECT_EQ(fake.held(), before);
}

} // namespace
} // namespace tilewright
