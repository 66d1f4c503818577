//===- ChecksTest.cpp - findings of the checker in small kernels --------------------------===//
#include "Kernels.h"

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

const std::string kShared = ".shared .align 16 .b8 s[256];\n";
/// Sets %r1 to the thread index, %r2 to 4 * the index, %r3 to the address of the thread's word of s, and %rd1 to the
/// address of its word of out.
const std::string kAddresses = "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.b32 %r3, s;\nadd.s32 %r3, %r3, "
                               "%r2;\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd1, %rd30;\n";

TEST(Check, ReversalThroughSharedMemory) {
  std::string write = "st.shared.b32 [%r3], %r1;\n", sync = "bar.sync 0;\n";
  std::string read = "xor.b32 %r4, %r2, 252;\nmov.b32 %r5, s;\nadd.s32 %r5, %r5, %r4;\nld.shared.b32 %r6, "
                     "[%r5];\nst.global.b32 [%rd1], %r6;\n";
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Outcome right = runBody(kAddresses + write + sync + read, threads(64, 1, seed), 64, {}, kShared);
    ASSERT_EQ(right.error, "");
    EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(right.out[i], 63 - i);
    Outcome wrong = runBody(kAddresses + write + read, threads(64, 1, seed), 64, {}, kShared);
    EXPECT_GE(wrong.count(Kind::Race) + wrong.count(Kind::UninitialisedMemory), 1u) << wrong.report.text();
  }
}

TEST(Check, ARaceIsDetectedInEitherOrder) {
  // Warp 0 writes and warp 1 reads, in either order.
  std::string body = kAddresses + "mov.b32 %r5, 0;\nst.shared.b32 [%r3], %r1;\nbar.sync 0;\nsetp.lt.u32 %p1, %r1, "
                                  "32;\n@%p1 st.shared.b32 [s], %r5;\n@!%p1 ld.shared.b32 %r4, [s];\n";
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_GE(runBody(body, threads(64, 1, seed), 64, {}, kShared).count(Kind::Race), 1u) << seed;
}

TEST(Check, LanesOfAWarpNeedABarrierToo) {
  std::string write = "st.shared.b32 [%r3], %r1;\n",
              read = "xor.b32 %r4, %r3, 4;\nld.shared.b32 %r6, [%r4];\nst.global.b32 [%rd1], %r6;\n";
  EXPECT_EQ(runBody(kAddresses + write + read, threads(32), 64, {}, kShared).count(Kind::Race), 1u);
  Outcome right = runBody(kAddresses + write + "bar.warp.sync -1;\n" + read, threads(32), 64, {}, kShared);
  EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
  EXPECT_EQ(right.out[5], 4u);
}

TEST(Check, AnOverwriteNeedsABarrierAfterTheReads) {
  std::string body = kAddresses + "st.shared.b32 [%r3], %r1;\nbar.sync 0;\nld.shared.b32 %r4, [s+128];\n";
  std::string overwrite = "st.shared.b32 [%r3], %r4;\n";
  EXPECT_GE(runBody(body + overwrite, threads(64), 64, {}, kShared).count(Kind::Race), 1u);
  Outcome right = runBody(body + "bar.sync 1;\n" + overwrite, threads(64), 64, {}, kShared);
  EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
}

TEST(Check, BlocksRaceOnGlobalMemoryUnlessTheyAreAtomic) {
  EXPECT_GE(runBody("mov.b32 %r1, 1;\nst.global.b32 [%rd30], %r1;\n", threads(1, 2)).count(Kind::Race), 1u);
  Outcome right = runBody("red.global.add.u32 [%rd30], 1;\n", threads(64, 3));
  EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
  EXPECT_EQ(right.out[0], 192u);
}

TEST(Check, ARaceNamesBothBlocksIfOneHasEnded) {
  Launch launch = threads(1);
  launch.grid = {2, 2, 1};
  launch.residentBlocks = 1;
  // The blocks (1, 0) and (0, 1) write; block (0, 0) and block (1, 1) do not.
  Outcome wrong = runBody("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nadd.s32 %r1, %r1, %r2;\n"
                          "setp.eq.u32 %p1, %r1, 1;\n@%p1 st.global.b32 [%rd30], %r1;\n",
                          launch);
  ASSERT_EQ(wrong.count(Kind::Race), 1u) << wrong.report.text();
  const Finding &race = wrong.report.findings[0];
  EXPECT_EQ(race.here.block, (Dimensions{0, 1, 0}));
  ASSERT_TRUE(race.other);
  EXPECT_EQ(race.other->block, (Dimensions{1, 0, 0}));
}

TEST(Check, SumsOfSubnormalsAreFlushedOnlyInGlobalMemory) {
  const std::string body = "mov.b32 %r1, 0x00400000;\nred.global.add.f32 [%rd30], %r1;\n"
                           "st.shared.b32 [s], %r1;\natom.shared.add.f32 %r2, [s], %r1;\nld.shared.b32 %r3, [s];\n"
                           "st.global.b32 [%rd30+4], %r3;\n";
  Outcome sums = runBody(body, threads(1), 8, {}, kShared);
  ASSERT_EQ(sums.error, "");
  EXPECT_EQ(sums.out[0], 0u);
  EXPECT_EQ(sums.out[1], 0x00800000u);
}

// The last block sums the values of all blocks. Fences before and after the atomic counter order the accesses.
TEST(Check, FencesAndAtomicsOrderBlocks) {
  std::string write = "mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd1, %rd30;\nadd.s32 %r2, "
                      "%r1, 1;\nst.global.b32 [%rd1+64], %r2;\n";
  std::string fence = "membar.gl;\n",
              ticket = "atom.global.add.u32 %r3, [%rd30], 1;\nsetp.ne.u32 %p1, %r3, 3;\n@%p1 ret;\n";
  std::string sum = "ld.global.b32 %r4, [%rd30+64];\nld.global.b32 %r5, [%rd30+68];\nadd.s32 %r4, %r4, "
                    "%r5;\nld.global.b32 %r5, [%rd30+72];\nadd.s32 %r4, %r4, %r5;\nld.global.b32 %r5, "
                    "[%rd30+76];\nadd.s32 %r4, %r4, %r5;\nst.global.b32 [%rd30+4], %r4;\n";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Outcome right = runBody(write + fence + ticket + fence + sum, threads(1, 4, seed));
    EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
    EXPECT_EQ(right.out[1], 10u);
    EXPECT_GE(runBody(write + ticket + fence + sum, threads(1, 4, seed)).count(Kind::Race), 1u);
    EXPECT_GE(runBody(write + fence + ticket + sum, threads(1, 4, seed)).count(Kind::Race), 1u);
  }
}

TEST(Check, AccessesOutOfBoundsAreReported) {
  Outcome past = runBody("ld.global.b32 %r1, [%rd31+4];\n", threads(1));
  ASSERT_EQ(past.count(Kind::OutOfBounds), 1u);
  EXPECT_NE(past.report.findings[0].message.find("'in' has 4 bytes, the access begins at byte 4"), std::string::npos)
      << past.report.text();
  EXPECT_EQ(runBody("mov.b64 %rd1, 0;\nld.b32 %r1, [%rd1];\n", threads(1)).count(Kind::OutOfBounds), 1u);
  EXPECT_EQ(runBody("ld.global.b32 %r1, [%rd30+2];\n", threads(1)).count(Kind::Misaligned), 1u);
  // An access past the end of a shared variable is an error, even if another variable follows.
  EXPECT_EQ(runBody("mov.b32 %r1, 0;\nst.shared.b32 [s+256], %r1;\n", threads(1), 8, {},
                    kShared + ".shared .align 16 .b8 t[256];\n")
                .count(Kind::OutOfBounds),
            1u);
  EXPECT_EQ(runBody("st.const.b32 [c], 0;\n", threads(1), 8, {}, ".const .align 4 .b32 c[2] = {1, 2};\n").error,
            "test.ptx:13:1: unknown instruction 'st.const.b32'");
  EXPECT_EQ(runBody("mov.b64 %rd1, c;\nst.b32 [%rd1], 0;\n", threads(1), 8, {}, ".const .align 4 .b32 c[2] = {1, 2};\n")
                .count(Kind::ReadOnly),
            1u);
}

TEST(Check, UninitialisedReadsAreReported) {
  EXPECT_EQ(runBody("ld.shared.b32 %r1, [s];\n", threads(1), 8, {}, kShared).count(Kind::UninitialisedMemory), 1u);
  Outcome wrong = runBody("add.s32 %r1, %r2, 1;\n", threads(1));
  ASSERT_EQ(wrong.count(Kind::UninitialisedRegister), 1u);
  EXPECT_NE(wrong.report.findings[0].message.find("%r2"), std::string::npos);
  // A move of an uninitialized register is not an error, but a use of the copy is.
  EXPECT_TRUE(runBody("mov.b32 %r1, %r2;\n", threads(1)).report.findings.empty());
  EXPECT_EQ(runBody("mov.b32 %r1, %r2;\nst.global.b32 [%rd30], %r1;\n", threads(1)).count(Kind::UninitialisedRegister),
            1u);
}

TEST(Check, DivergentBarriersAreReported) {
  std::string half = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 16;\n";
  // The two halves of a warp wait at different barriers. In the loop, some threads exit while others wait at a barrier.
  std::string parted = half + "@%p1 bra $other;\nbar.sync 0;\nbra $end;\n$other:\nbar.sync 1;\n$end:\n";
  EXPECT_GE(runBody(parted, threads(32)).count(Kind::BarrierDivergence), 1u);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(runBody(half + "@%p1 bra $skip;\nbar.sync 0;\n$skip:\n", threads(32, 1, seed)).count(Kind::ExitAtBarrier),
              1u);
    EXPECT_EQ(runBody("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 0;\n", threads(64, 1, seed))
                  .count(Kind::ExitAtBarrier),
              1u);
  }
  Outcome meets = runBody(half + "@%p1 bra $skip;\nadd.s32 %r1, %r1, 1;\n$skip:\nbar.sync 0;\n", threads(32));
  EXPECT_TRUE(meets.report.findings.empty()) << meets.report.text();
  EXPECT_EQ(runBody("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 0;\n", threads(64))
                .count(Kind::ExitAtBarrier),
            1u);
  Outcome deadlock =
      runBody("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1;\n@!%p1 bar.sync 2;\n", threads(64));
  EXPECT_EQ(deadlock.count(Kind::Deadlock), 2u) << deadlock.report.text();
  EXPECT_FALSE(deadlock.report.finished);
  EXPECT_EQ(runBody("bar.sync 0, 48;\n", threads(64)).count(Kind::BadOperand), 1u);
  Outcome reduced =
      runBody("mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 1;\nsetp.eq.s32 %p1, %r2, 1;\nbar.red.popc.u32 %r3, 0, "
              "%p1;\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd1, %rd30;\nst.global.b32 [%rd1], %r3;\n",
              threads(96));
  ASSERT_EQ(reduced.error, "");
  EXPECT_TRUE(reduced.report.findings.empty()) << reduced.report.text();
  EXPECT_EQ(reduced.out[95], 48u);
  // The producer warp executes bar.arrive, and does not wait.
  std::string pair = kAddresses +
                     "setp.lt.u32 %p1, %r1, 32;\n@%p1 st.shared.b32 [%r3], %r1;\n@%p1 bar.arrive 1, 64;\n@%p1 bra "
                     "$end;\nbar.sync 1, 64;\nld.shared.b32 %r4, [%r3+-128];\nst.global.b32 [%rd1], %r4;\n$end:\n";
  Outcome produced = runBody(pair, threads(64), 64, {}, kShared);
  EXPECT_TRUE(produced.report.findings.empty()) << produced.report.text();
  EXPECT_EQ(produced.out[63], 31u);
}

TEST(Check, StepLimit) {
  Launch launch = threads(32);
  launch.stepLimit = 10000;
  Outcome outcome = runBody("$again:\nbra $again;\n", launch);
  EXPECT_EQ(outcome.count(Kind::StepLimit), 1u);
  EXPECT_FALSE(outcome.report.finished);
}

TEST(Check, BankConflictsAndSectorsAreCounted) {
  Outcome outcome =
      runBody("mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 3;\nmov.b32 %r3, s;\nadd.s32 %r2, %r2, %r3;\nst.shared.b32 "
              "[%r2], %r1;\nmul.wide.u32 %rd1, %r1, 128;\nadd.s64 %rd1, %rd1, %rd30;\nst.global.b32 [%rd1], %r1;\n",
              threads(32), 1024, {}, kShared);
  ASSERT_EQ(outcome.report.costs.size(), 2u) << outcome.report.text();
  EXPECT_EQ(outcome.report.costs[0].extraWavefronts, 1u);
  EXPECT_EQ(outcome.report.costs[1].sectors, 32u);
  EXPECT_EQ(outcome.report.costs[1].leastSectors, 4u);
}

TEST(Warp, ShufflesVotesAndReductions) {
  std::string body = "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 32;\nadd.s64 %rd1, %rd1, %rd30;\n"
                     "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nst.global.b32 [%rd1], %r2;\n"
                     "shfl.sync.up.b32 %r3|%p1, %r1, 2, 0, -1;\nst.global.b32 [%rd1+4], %r3;\n"
                     "shfl.sync.down.b32 %r4, %r1, 4, 0x181f, -1;\nst.global.b32 [%rd1+8], %r4;\n"
                     "shfl.sync.idx.b32 %r5, %r1, 9, 0x181f, -1;\nst.global.b32 [%rd1+12], %r5;\n"
                     "setp.gt.u32 %p2, %r1, 29;\nvote.sync.ballot.b32 %r6, %p2, -1;\nst.global.b32 [%rd1+16], %r6;\n"
                     "redux.sync.add.s32 %r7, %r1, -1;\nst.global.b32 [%rd1+20], %r7;\n"
                     "shr.u32 %r8, %r1, 4;\nmatch.any.sync.b32 %r9, %r8, -1;\nst.global.b32 [%rd1+24], %r9;\n";
  Outcome outcome = runBody(body, threads(32));
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t *got = &outcome.out[8 * lane];
    EXPECT_EQ(got[0], lane ^ 1);
    EXPECT_EQ(got[1], lane < 2 ? lane : lane - 2);
    EXPECT_EQ(got[2], lane % 8 < 4 ? lane + 4 : lane); // segments of eight lanes
    EXPECT_EQ(got[3], lane / 8 * 8 + 1);
    EXPECT_EQ(got[4], 0xc0000000u);
    EXPECT_EQ(got[5], 496u);
    EXPECT_EQ(got[6], lane < 16 ? 0xffffu : 0xffff0000u);
  }
}

TEST(Control, CallsLoopsAndTables) {
  // f(n) = n < 2 ? 1 : n * f(n - 1) is called with n = lane % 4 + 1, so that the lanes have four recursion depths. A
  // branch table follows.
  std::string function =
      ".visible .func (.param .b32 r) f(.param .b32 x) {\n.reg .b32 %q<4>;\n.reg .pred %p;\nld.param.b32 %q1, "
      "[x];\nmov.b32 %q2, 1;\nsetp.lt.s32 %p, %q1, 2;\n@%p bra $done;\n"
      "add.s32 %q3, %q1, -1;\n{\n.param .b32 a;\n.param .b32 v;\nst.param.b32 [a], %q3;\ncall.uni (v), f, "
      "(a);\nld.param.b32 %q2, [v];\n}\nmul.lo.s32 %q2, %q2, %q1;\n$done:\nst.param.b32 [r], %q2;\nret;\n}\n";
  std::string body = "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 8;\nadd.s64 %rd1, %rd1, %rd30;\nand.b32 %r2, %r1, "
                     "3;\nadd.s32 %r3, %r2, 1;\n"
                     "{\n.param .b32 a;\n.param .b32 v;\nst.param.b32 [a], %r3;\ncall (v), f, (a);\nld.param.b32 %r4, "
                     "[v];\n}\nst.global.b32 [%rd1], %r4;\n"
                     "$table: .branchtargets $zero, $one, $two, $three;\nbrx.idx %r2, $table;\n$zero:\nmov.b32 %r5, "
                     "10;\nbra $out;\n$one:\nmov.b32 %r5, 11;\nbra $out;\n$two:\nmov.b32 %r5, 12;\nbra "
                     "$out;\n$three:\nmov.b32 %r5, 13;\n$out:\n"
                     "bar.warp.sync -1;\nst.global.b32 [%rd1+4], %r5;\n";
  Outcome outcome = runBody(body, threads(32), 64, {}, function);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  const uint32_t factorial[] = {1, 2, 6, 24};
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(outcome.out[2 * lane], factorial[lane & 3]);
    EXPECT_EQ(outcome.out[2 * lane + 1], 10 + (lane & 3));
  }
}

TEST(Check, LoadIsCheckedOnlyForTheBytesThatAreUsed) {
  // The load reads words 60 to 63 of 63 words; the last is out of bounds.
  std::string load = "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd30+240];\nst.global.b32 [%rd30], %r1;\n";
  EXPECT_EQ(runBody(load, threads(1), 63).count(Kind::OutOfBounds), 1u);
  Outcome right = runBody(".pragma \"used_bytes_mask 0xfff\";\n" + load, threads(1), 63);
  EXPECT_EQ(right.error, "");
  EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
  // The pragma applies to the next instruction only, and to the bytes in its mask.
  EXPECT_EQ(runBody(".pragma \"used_bytes_mask 0xfff\";\n" + load + load, threads(1), 63).count(Kind::OutOfBounds), 1u);
  EXPECT_EQ(runBody(".pragma \"used_bytes_mask 0xf00f\";\n" + load, threads(1), 63).count(Kind::OutOfBounds), 1u);
}

} // namespace
