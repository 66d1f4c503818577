//===- GraphTest.cpp - calls as CUDA graphs on the fake driver -------------------------------===//
#include "test/Unit/Runtime/CUDA/FakeDriver.h"

namespace tilewright {
namespace {

using Graphs = DriverTest;

/// A program of two independent kernels, and a third kernel that reads the results of both.
constexpr char branches[] = R"(
  func.func @main(%x: tensor<48x16xf32>, %y: tensor<16x48xf32>) -> tensor<48x48xf32> {
    %a = tw.matmul %x, %y : (tensor<48x16xf32>, tensor<16x48xf32>) -> tensor<48x48xf32>
    %t = tw.permute %y {permutation = array<i64: 1, 0>} : tensor<16x48xf32> -> tensor<48x16xf32>
    %b = tw.matmul %t, %y : (tensor<48x16xf32>, tensor<16x48xf32>) -> tensor<48x48xf32>
    %c = tw.matmul %a, %b : (tensor<48x48xf32>, tensor<48x48xf32>) -> tensor<48x48xf32>
    return %c : tensor<48x48xf32>
  })";

constexpr char embedding[] = R"(
  func.func @main(%table: tensor<5x16xf32>, %indices: tensor<4xi64>) -> tensor<4x16xf32> {
    %0 = tw.take %table[%indices] {dim = 0 : i64}
      : (tensor<5x16xf32>, tensor<4xi64>) -> tensor<4x16xf32> loc("layer.py":7:0)
    return %0 : tensor<4x16xf32>
  })";

struct Branches {
  explicit Branches(FakeDriver &fake)
      : x(fake, numbers(48 * 16)), y(fake, numbers(16 * 48)), out(fake, std::vector<float>(48 * 48, 7)),
        other(fake, std::vector<float>(48 * 48, 7)) {}
  DeviceTensor<float> x, y, out, other;
};

TEST_F(Graphs, EqualCallsAreOneGraphLaunch) {
  auto program = compile(branches, "cuda", /*cudaGraph=*/true);
  ASSERT_TRUE(program) << refusal;
  Branches tensors(fake);
  Caller caller(fake); // the caller's slab has the same address in every call
  fake.set("");
  ASSERT_TRUE(run(*program, {tensors.x.data(), tensors.y.data()}, {tensors.out.data()}, &caller)) << error.text;
  const int64_t kernels = fake.count("cuLaunchKernel");
  EXPECT_GT(kernels, 1);
  EXPECT_EQ(fake.count("cuGraphLaunch"), 0);
  fake.synchronize(0x10);
  const std::vector<float> wanted = tensors.out.now();
  EXPECT_NE(wanted[5], 7);

  for (int call : {1, 2, 3}) {
    tensors.out.set(std::vector<float>(48 * 48, 7));
    ASSERT_TRUE(run(*program, {tensors.x.data(), tensors.y.data()}, {tensors.out.data()}, &caller)) << error.text;
    fake.synchronize(0x10);
    EXPECT_EQ(tensors.out.now(), wanted);
    EXPECT_EQ(fake.count("cuGraphLaunch"), call);
  }
  EXPECT_EQ(fake.count("cuLaunchKernel"), kernels);
  EXPECT_EQ(fake.count("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(fake.count("cuGraphExecKernelNodeSetParams"), 0) << "nothing has changed";

  // Only one node writes the result, so one node is updated for another output tensor.
  ASSERT_TRUE(run(*program, {tensors.x.data(), tensors.y.data()}, {tensors.other.data()}, &caller)) << error.text;
  EXPECT_EQ(fake.count("cuGraphExecKernelNodeSetParams"), 1);
  EXPECT_EQ(fake.count("cuGraphInstantiateWithFlags"), 1);
  fake.synchronize(0x10);
  EXPECT_EQ(tensors.other.now(), wanted);
}

TEST_F(Graphs, LaunchedGraphIsNotChangedByTheNextCall) {
  auto program = compile(branches, "cuda", true);
  ASSERT_TRUE(program) << refusal;
  Branches tensors(fake);
  Caller caller(fake);
  for (DeviceTensor<float> *out : {&tensors.out, &tensors.other, &tensors.out, &tensors.other})
    ASSERT_TRUE(run(*program, {tensors.x.data(), tensors.y.data()}, {out->data()}, &caller)) << error.text;
  fake.synchronize(0x10);
  EXPECT_NE(tensors.out.now()[5], 7);
  EXPECT_EQ(tensors.out.now(), tensors.other.now());
}

TEST_F(Graphs, IndicesAreStillChecked) {
  auto program = compile(embedding, "cuda", true);
  ASSERT_TRUE(program) << refusal;
  std::vector<float> table = numbers(80), out(64);
  int64_t good[] = {1, 2, 3, 0}, bad[] = {1, 2, 3, 9};
  for (int64_t *indices : {good, good, good})
    ASSERT_TRUE(run(*program, {table.data(), indices}, {out.data()})) << error.text;
  EXPECT_EQ(out[0], 13);
  EXPECT_FALSE(run(*program, {table.data(), bad}, {out.data()}));
  EXPECT_EQ(error.text, "index 9 is out of range for a dimension of size 5, in take (layer.py:7)");
  EXPECT_TRUE(run(*program, {table.data(), good}, {out.data()})) << error.text;
}

TEST_F(Graphs, DriverErrorsAreReportedAndTheNextCallWorks) {
  Branches tensors(fake);
  for (const char *function :
       {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphLaunch"}) {
    auto program = compile(branches, "cuda", true);
    ASSERT_TRUE(program) << refusal;
    auto call = [&] { return run(*program, {tensors.x.data(), tensors.y.data()}, {tensors.out.data()}); };
    ASSERT_TRUE(call()) << error.text;
    fake.set("fail=" + std::string(function) + ":1:701");
    EXPECT_FALSE(call()) << function;
    EXPECT_EQ(error.text.find("a CUDA graph of "), 0u) << error.text;
    EXPECT_NE(error.text.find("on cuda:0 (Fake GPU, sm_80): CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), std::string::npos)
        << error.text;
    EXPECT_TRUE(call()) << error.text;
    EXPECT_EQ(fake.count("cuGraphLaunch"), function == std::string("cuGraphLaunch") ? 2 : 1);
  }
}

TEST_F(Graphs, BelongToOneGpu) {
  EXPECT_FALSE(compile(branches, "emulated", true));
  EXPECT_EQ(refusal, "device 'emulated' of target 'cuda' does not support CUDA graphs; remove the option cuda_graph "
                     "(--cuda-graph)");
}

TEST_F(Graphs, EverythingIsReleased) {
  const std::string before = fake.held();
  {
    auto program = compile(branches, "cuda", true);
    ASSERT_TRUE(program) << refusal;
    Branches tensors(fake);
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(run(*program, {tensors.x.data(), tensors.y.data()}, {tensors.out.data()})) << error.text;
    EXPECT_NE(fake.held(), before);
    fake.synchronize(0);
  }
  fake.synchronize(0);
  EXPECT_EQ(fake.held(), before);
}

} // namespace
} // namespace tilewright
