//===- DeviceCodeTest.cpp - findings of the checker name the user's line ------------------===//
#include "tilewright/DeviceCode.h"
#include "lib/Plan/PlanFromIR.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace tilewright {
namespace {

constexpr char graph[] = R"(
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = tw.exp %x : (tensor<64xf32>) -> tensor<64xf32> loc("layer.py":12:0)
    return %0 : tensor<64xf32>
  })";

/// A kernel with a race: all threads write the first element.
constexpr char racing[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry exp_0(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %tid.x;
  st.global.b32 [%rd1], %r1;
  ret;
})";

TEST(DeviceCode, ErrorsNameTheUsersLine) {
  Session session;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &session.context());
  ASSERT_TRUE(module);
  Options options;
  options.target = "cuda";
  options.own.set("device", "emulated");
  options.own.set("arch", "sm_80");
  llvm::Error lowered = session.lowerTo(*module, "target", options);
  ASSERT_FALSE(lowered);
  auto artifact = emitDeviceArtifact(*module, racing, {{"exp_0", 64, 0, {}}});
  ASSERT_TRUE(bool(artifact)) << llvm::toString(artifact.takeError());
  auto program = loadDeviceArtifact(*artifact, {"emulated"});
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  (*program)->report.stepLines = stepLines(*module);
  alignas(64) float in[64] = {}, out[64] = {};
  const void *inputs[] = {in};
  void *outputs[] = {out};
  RunError error;
  EXPECT_FALSE((*program)->run(inputs, outputs, nullptr, nullptr, 1, error, nullptr));
  EXPECT_NE(error.text.find("ptx-check has findings in kernel exp_0 (exp)"), std::string::npos) << error.text;
  EXPECT_NE(error.text.find("race in exp_0: write of global memory"), std::string::npos) << error.text;
  EXPECT_TRUE(llvm::StringRef(error.text).ends_with("kernel exp_0 is launched by exp (layer.py:12)")) << error.text;
}

} // namespace
} // namespace tilewright
