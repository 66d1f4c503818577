//===- TimingTest.cpp - measures of sampled blocks -------------------------------------===//
#include "Kernels.h"

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

Launch sampled(Launch launch, uint32_t clusters = 8) {
  launch.sampledClusters = clusters;
  launch.residentBlocks = 1;
  return launch;
}

Profile profileOf(const std::string &body, const Launch &launch, const std::string &variables = "") {
  Outcome outcome = runBody(body, sampled(launch), 1024, {}, variables);
  EXPECT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.finished);
  return outcome.report.profile.value_or(Profile());
}

std::string repeated(const std::string &text, uint32_t times) {
  std::string all;
  for (uint32_t i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST(Timing, OnlySampledBlocksRun) {
  Launch launch = threads(32, 100);
  Outcome outcome = runBody("mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd1, %rd30;\n"
                            "mov.b32 %r2, 7;\nst.global.b32 [%rd1], %r2;\n",
                            sampled(launch, 4), 100);
  ASSERT_EQ(outcome.error, "");
  ASSERT_TRUE(outcome.report.profile);
  EXPECT_EQ(outcome.report.profile->blocks, 4u);
  uint32_t written = 0;
  for (uint32_t i = 0; i < 100; ++i)
    written += outcome.out[i] == 7;
  EXPECT_EQ(written, 4u);
  // The first and the last block are among them.
  EXPECT_EQ(outcome.out[0], 7u);
  EXPECT_EQ(outcome.out[99], 7u);
}

TEST(Timing, TheOrderOfBlocksDoesNotChangeTheSample) {
  Launch launch = sampled(threads(32, 100), 4);
  launch.seed = 5;
  Outcome outcome = runBody("mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd1, %rd30;\n"
                            "mov.b32 %r2, 7;\nst.global.b32 [%rd1], %r2;\n",
                            launch, 100);
  for (uint32_t block : {0, 33, 66, 99})
    EXPECT_EQ(outcome.out[block], 7u) << block;
}

TEST(Timing, ResultsOf32BitsOfWideInstructionsMayBeUniform) {
  // ptxas computes values that are equal in all lanes in the uniform datapath, which is not the integer pipe.
  for (const char *instruction : {"popc.b64 %r1, %rd1;\n", "clz.b64 %r1, %rd1;\n", "cvt.u16.u64 %h1, %rd1;\n"}) {
    const std::string begin = "mov.b64 %rd1, 12345;\n";
    const double without = profileOf(begin, threads(32)).integer;
    EXPECT_EQ(profileOf(begin + repeated(instruction, 100), threads(32)).integer, without) << instruction;
    EXPECT_GT(
        profileOf("mov.u32 %r2, %tid.x;\ncvt.u64.u32 %rd1, %r2;\n" + repeated(instruction, 100), threads(32)).integer,
        without)
        << instruction;
  }
}

TEST(Timing, NoProfileWithoutSampling) { EXPECT_FALSE(runBody("mov.u32 %r1, %tid.x;\n", threads(32)).report.profile); }

TEST(Timing, DependentInstructionsTakeLongerThanIndependentOnes) {
  const std::string first = "mov.b32 %r11, 0f3F800000;\nmov.b32 %r12, 0f3F800000;\n";
  const Profile chain = profileOf(first + repeated("fma.rn.f32 %r11, %r11, %r11, %r11;\n", 100), threads(32));
  const Profile apart = profileOf(first + repeated("fma.rn.f32 %r12, %r11, %r11, %r11;\n", 100), threads(32));
  EXPECT_DOUBLE_EQ(chain.single, apart.single);
  EXPECT_DOUBLE_EQ(chain.single, 25); // 100 warp instructions, four quarters of a multiprocessor
  EXPECT_GT(chain.path, 4 * apart.path);
}

TEST(Timing, IndependentLoadsOverlap) {
  const std::string one = "ld.global.b32 %r1, [%rd30];\n", other = "ld.global.b32 %r2, [%rd30+128];\n";
  const std::string dependent =
      one + "cvt.u64.u32 %rd1, %r1;\nadd.s64 %rd1, %rd1, %rd30;\nld.global.b32 %r2, [%rd1+128];\n";
  const std::string use = "st.global.b32 [%rd30+256], %r2;\n";
  const double single = profileOf(other + use, threads(1)).path, both = profileOf(one + other + use, threads(1)).path;
  EXPECT_LT(both, single + 20);
  EXPECT_GT(profileOf(dependent + use, threads(1)).path, 1.8 * single);
}

TEST(Timing, WarpsOfAQuarterShareItsPipes) {
  const std::string body =
      "mov.b32 %r11, 0f3F800000;\nmov.b32 %r12, 0f3F800000;\n" + repeated("fma.rn.f32 %r12, %r11, %r11, %r11;\n", 200);
  const double four = profileOf(body, threads(128)).path, sixteen = profileOf(body, threads(512)).path;
  EXPECT_NEAR(sixteen / four, 4, 0.2);
}

TEST(Timing, ABarrierWaitsForTheSlowestWarp) {
  const std::string chain = repeated("fma.rn.f32 %r11, %r11, %r11, %r11;\n", 100);
  const std::string begin =
      "mov.b32 %r11, 0f3F800000;\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra slow;\nbra done;\nslow:\n" +
      chain + "done:\nbar.sync 0;\n";
  // Only warp 0 executes the first chain, and all warps execute the second.
  const double one = profileOf(begin, threads(64)).path, two = profileOf(begin + chain, threads(64)).path;
  EXPECT_GT(one, 400);
  EXPECT_GT(two, one + 400);
}

/// Sets %rd2 to an address at a multiple of 128 in the buffer.
const std::string kLine = "add.s64 %rd2, %rd30, 127;\nand.b64 %rd2, %rd2, -128;\n";

TEST(Timing, BankConflictsAndPartialSectorsAreCounted) {
  const std::string shared = ".shared .align 16 .b8 s[8192];\n";
  auto store = [](uint32_t shift) {
    return "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, " + std::to_string(shift) +
           ";\nmov.b32 %r3, s;\nadd.s32 %r3, %r3, %r2;\nst.shared.b32 [%r3], %r1;\n";
  };
  EXPECT_EQ(profileOf(store(2), threads(32), shared).shared, 1);
  EXPECT_EQ(profileOf(store(7), threads(32), shared).shared, 32);
  auto write = [](uint32_t scale) {
    return kLine + "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, " + std::to_string(scale) +
           ";\nadd.s64 %rd1, %rd1, %rd2;\nst.global.b32 [%rd1], %r1;\n";
  };
  EXPECT_EQ(profileOf(write(4), threads(32)).partialWrites, 0);
  EXPECT_EQ(profileOf(write(32), threads(32)).partialWrites, 28); // 32 sectors, and the bytes of four
}

TEST(Timing, BytesThatAllBlocksReadAreDistinctOnce) {
  const std::string index = kLine + "mov.u32 %r1, %tid.x;\n";
  const std::string address = "mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nld.global.b32 %r2, [%rd1];\n";
  const std::string own = "mov.u32 %r3, %ctaid.x;\nshl.b32 %r3, %r3, 5;\nadd.s32 %r1, %r1, %r3;\n";
  const Profile same = profileOf(index + address, threads(32, 16)),
                each = profileOf(index + own + address, threads(32, 16));
  EXPECT_EQ(same.bytesRead, 128);
  EXPECT_EQ(same.distinctRead, 128);
  EXPECT_EQ(each.bytesRead, 128);
  EXPECT_EQ(each.distinctRead, 16 * 128);
}

} // namespace
