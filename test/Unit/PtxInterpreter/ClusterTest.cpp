//===- ClusterTest.cpp - blocks of a cluster: addresses, barrier, mbarriers, multicast -----------===//
//
// The expected values were derived manually from the text of the PTX ISA.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "tilewright/PtxTensorMap.h"

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

Launch clusters(Dimensions grid, Dimensions cluster, uint32_t block = 32, uint64_t seed = 0) {
  Launch launch = threads(block, 1, seed);
  launch.grid = grid;
  launch.cluster = cluster;
  return launch;
}
std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Cluster, SpecialRegisters) {
  // A grid of 4 x 2 in clusters of 2 x 2 has two clusters. Every block stores six words, indexed by its number.
  const char *names[] = {"%cluster_ctarank", "%clusterid.x",  "%cluster_ctaid.x",
                         "%cluster_ctaid.y", "%nclusterid.x", "%cluster_nctarank"};
  std::string body = "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmad.lo.u32 %r3, %r2, 4, %r1;\nmul.wide.u32 "
                     "%rd1, %r3, 24;\nadd.s64 %rd1, %rd1, %rd30;\n";
  for (int i = 0; i < 6; ++i)
    body += "mov.u32 %r4, " + std::string(names[i]) + ";\nst.global.b32 [%rd1+" + std::to_string(4 * i) + "], %r4;\n";
  for (uint64_t seed : {0, 5}) {
    Outcome outcome = runBody(body, clusters({4, 2, 1}, {2, 2, 1}, 1, seed));
    ASSERT_EQ(outcome.error, "");
    EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
    for (uint32_t y = 0; y < 2; ++y)
      for (uint32_t x = 0; x < 4; ++x) {
        const uint32_t *got = outcome.out.data() + (y * 4 + x) * 6;
        EXPECT_EQ(std::vector<uint32_t>(got, got + 6), (std::vector<uint32_t>{x % 2 + 2 * y, x / 2, x % 2, y, 2, 4}));
      }
  }
  Outcome alone = runBody("mov.u32 %r1, %cluster_nctarank;\nmov.u32 %r2, %cluster_ctarank;\nadd.s32 %r1, %r1, %r2;\n"
                          "st.global.b32 [%rd30], %r1;\n",
                          threads(1));
  EXPECT_EQ(alone.out[0], 1u);
}

// On a GPU, addresses of the second block's shared memory have a bit above the offset. Regression: a kernel copied this
// bit into a field of a wgmma descriptor, which then described other memory.
TEST(Cluster, NamesOfSharedVariablesHaveBitsAboveTheOffset) {
  const std::string body =
      ".shared .align 4 .b32 s[4];\nmov.u32 %r1, s;\nshr.u32 %r2, %r1, 24;\nmov.u32 %r3, %ctaid.x;\n"
      "add.s32 %r4, %r3, 70;\nst.shared.b32 [%r1+4], %r4;\nld.shared.b32 %r5, [s+4];\n"
      "getctarank.shared::cluster.u32 %r6, %r1;\nmul.wide.u32 %rd1, %r3, 12;\n"
      "add.s64 %rd1, %rd1, %rd30;\nst.global.b32 [%rd1], %r2;\nst.global.b32 [%rd1+4], %r5;\n"
      "st.global.b32 [%rd1+8], %r6;\n";
  Outcome outcome =
      runText(replaced(kernel(body), ") {", ") .reqnctapercluster 2, 1, 1 {"), clusters({2, 1, 1}, {0, 0, 0}, 1));
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t block = 0; block < 2; ++block) {
    EXPECT_NE(outcome.out[block * 3], 0u);
    EXPECT_EQ(outcome.out[block * 3 + 1], 70 + block);
    EXPECT_EQ(outcome.out[block * 3 + 2], block);
  }
}

TEST(Cluster, InvalidLaunchesAreRefused) {
  auto error = [](Dimensions grid, Dimensions cluster, const std::string &directive = "") {
    return runText(replaced(kernel(""), ") {", ") " + directive + " {"), clusters(grid, cluster)).error;
  };
  EXPECT_EQ(error({4, 1, 1}, {2, 1, 1}), "");
  EXPECT_EQ(error({4, 1, 1}, {2, 1, 1}, ".explicitcluster"), "");
  EXPECT_EQ(error({4, 1, 1}, {0, 0, 0}, ".reqnctapercluster 2, 1, 1"), "");
  EXPECT_NE(error({3, 1, 1}, {2, 1, 1}).find("is not a multiple of its clusters of 2x1x1"), std::string::npos);
  EXPECT_NE(error({3, 1, 1}, {0, 0, 0}, ".reqnctapercluster 2, 1, 1").find("is not a multiple"), std::string::npos);
  EXPECT_NE(error({32, 1, 1}, {32, 1, 1}).find("it must have 1 to 16"), std::string::npos);
  EXPECT_NE(error({4, 1, 1}, {1, 0, 1}).find("it must have 1 to 16"), std::string::npos);
  EXPECT_NE(error({4, 1, 1}, {4, 1, 1}, ".reqnctapercluster 2").find("the kernel requires .reqnctapercluster 2x1x1"),
            std::string::npos);
}

/// Parts of kernels for a cluster of two blocks of 32 threads. %r3 is 100 * rank + tid, %r5 is the address of the
/// thread's word of its block's s, and %r8 (after kMap) is the address of the same word of the other block's s.
const std::string kShared = ".shared .align 16 .b8 s[128];\n.shared .align 8 .b8 bar[16];\n";
const std::string kSync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
const std::string kBegin = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %cluster_ctarank;\nmad.lo.u32 %r3, %r2, 100, %r1;\n"
                           "shl.b32 %r4, %r1, 2;\nmov.b32 %r5, s;\nadd.s32 %r5, %r5, %r4;\nxor.b32 %r6, %r2, 1;\n"
                           "mad.lo.u32 %r7, %r2, 32, %r1;\nmul.wide.u32 %rd1, %r7, 4;\nadd.s64 %rd1, %rd1, %rd30;\n"
                           "mov.b32 %r20, bar;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ne.u32 %p2, %r2, 0;\n";
const std::string kMap = "mapa.shared::cluster.u32 %r8, %r5, %r6;\n";
const std::string kRead = "ld.shared::cluster.b32 %r9, [%r8];\n", kOut = "st.global.b32 [%rd1], %r9;\n";

Outcome pair(const std::string &body, uint64_t seed = 0, uint32_t block = 32) {
  return runBody(body, clusters({2, 1, 1}, {2, 1, 1}, block, seed), 1024, {}, kShared);
}
/// Runs `body` in eight orders of the threads. Returns the number of orders in which the checker reports an error of
/// `kinds`.
uint32_t orders(const std::string &body, std::initializer_list<Kind> kinds) {
  uint32_t found = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Outcome outcome = pair(body, seed);
    EXPECT_EQ(outcome.error, "");
    uint64_t count = 0;
    for (Kind kind : kinds)
      count += outcome.count(kind);
    found += count != 0;
  }
  return found;
}

TEST(Cluster, ReadsMemoryOfAnotherBlock) {
  const std::string write = "st.shared.b32 [%r5], %r3;\n";
  for (const std::string &read :
       {kMap + kRead, // a read by a shared::cluster address, by a generic address, or by an atomic
        std::string(
            "cvt.u64.u32 %rd2, %r5;\ncvta.shared.u64 %rd2, %rd2;\nmapa.u64 %rd3, %rd2, %r6;\nld.b32 %r9, [%rd3];\n"),
        kMap + "mov.b32 %r10, 0;\natom.shared::cluster.add.u32 %r9, [%r8], %r10;\n"})
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Outcome outcome = pair(kBegin + write + kSync + read + kOut + kSync, seed);
      ASSERT_EQ(outcome.error, "");
      EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
      for (uint32_t i = 0; i < 64; ++i)
        EXPECT_EQ(outcome.out[i], (i < 32 ? 100 : 0) + i % 32);
    }
  const std::string body = kBegin + write + kSync + kMap + kRead + kOut + kSync;
  const std::string relaxed =
      replaced(body, "barrier.cluster.arrive.aligned", "barrier.cluster.arrive.relaxed.aligned");
  EXPECT_EQ(orders(kBegin + write + kMap + kRead + kOut + kSync, {Kind::Race}), 8u);
  EXPECT_EQ(orders(relaxed, {Kind::Race}), 8u);
  EXPECT_EQ(orders(replaced(relaxed, "barrier.cluster", "fence.acq_rel.cluster;\nbarrier.cluster"), {Kind::Race}), 0u);
  // Without the last barrier, a block may exit before the other block has read its shared memory.
  EXPECT_EQ(orders(kBegin + write + kSync + kMap + kRead + kOut, {Kind::ExitedBlock}), 8u);
  // A barrier within the block does not prevent the block from exiting too early.
  EXPECT_EQ(orders(kBegin + write + kSync + kMap + kRead + kOut + "bar.sync 0;\n", {Kind::ExitedBlock}), 8u);
}

TEST(Cluster, AddressesAreChecked) {
  const std::string body = kBegin + "st.shared.b32 [%r5], %r3;\n" + kSync + kMap + kRead + kSync;
  EXPECT_EQ(pair(body).report.findings.size(), 0u);
  EXPECT_EQ(pair(replaced(body, "ld.shared::cluster", "ld.shared")).count(Kind::OutOfBounds), 1u);
  EXPECT_EQ(pair(replaced(body, "[%r8]", "[%r8+128]")).count(Kind::OutOfBounds), 1u);
  EXPECT_EQ(pair(replaced(body, "[%r8]", "[%r8+2]")).count(Kind::Misaligned), 1u);
  EXPECT_EQ(pair(replaced(body, "%r5, %r6;", "%r5, 2;")).count(Kind::BadOperand), 1u);
  EXPECT_GE(pair(replaced(body, "[%r8]", "[%r8+67108864]")).count(Kind::OutOfBounds), 1u); // four ranks higher
  // mapa with the rank of the executing block returns an address of this block, also for .shared::cta. getctarank
  // returns the rank of an address.
  Outcome own = pair(kBegin +
                     "st.shared.b32 [%r5], %r3;\nmapa.shared::cluster.u32 %r8, %r5, %r2;\nld.shared.b32 %r9, "
                     "[%r8];\n" +
                     kMap +
                     "getctarank.shared::cluster.u32 %r10, %r8;\nmad.lo.u32 %r9, %r10, 1000, "
                     "%r9;\n" +
                     kOut);
  EXPECT_TRUE(own.report.findings.empty()) << own.report.text();
  EXPECT_EQ(own.out[5], 1005u);
  EXPECT_EQ(own.out[32 + 5], 105u);
  const std::string copy = "cp.async.ca.shared.global [%r8], [%rd31], 4;\n";
  EXPECT_EQ(pair(kBegin + kMap + copy + kSync).count(Kind::OutOfBounds), 1u);
}

TEST(Cluster, TheBarrierCountsThreads) {
  // The barrier does not wait for threads that have exited.
  EXPECT_EQ(pair(kBegin + "setp.gt.u32 %p3, %r1, 15;\n@%p3 exit;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n")
                .report.findings.size(),
            0u);
  EXPECT_EQ(
      pair("barrier.cluster.arrive;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n").count(Kind::BarrierMismatch),
      1u);
  EXPECT_EQ(pair("barrier.cluster.wait;\n").count(Kind::BarrierMismatch), 1u);
  // Only half of a warp arrives at an aligned barrier.
  EXPECT_GE(pair(kBegin + "setp.gt.u32 %p3, %r1, 15;\n@%p3 bra $e;\nbarrier.cluster.arrive.aligned;\n$e:\n")
                .count(Kind::BarrierDivergence),
            1u);
  // The second block waits forever for an mbarrier, and the first block for the barrier of the cluster.
  Outcome stuck = pair(kBegin +
                       "@!%p2 bra $c;\n@!%p1 mbarrier.init.shared.b64 [%r20], 1;\nbar.sync 0;\n$w:\n"
                       "mbarrier.try_wait.parity.shared.b64 %p3, [%r20], 0;\n@!%p3 bra $w;\n$c:\n" +
                       kSync);
  EXPECT_GE(stuck.count(Kind::Deadlock), 2u);
  EXPECT_NE(stuck.report.text().find("the barrier of its cluster lacks 32 threads"), std::string::npos);
}

TEST(Cluster, ArrivesAtMbarrierOfAnotherBlock) {
  // Block 1 writes into block 0's memory and arrives there; block 0 waits and reads.
  const std::string init = "@!%p1 mbarrier.init.shared.b64 [%r20], 32;\n@!%p1 fence.mbarrier_init.release.cluster;\n"
                           "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n@!%p2 bra $wait;\n";
  const std::string send =
      "mov.b32 %r9, 0;\nmapa.shared::cluster.u32 %r8, %r5, %r9;\nst.shared::cluster.b32 [%r8], %r3;\n"
      "mapa.shared::cluster.u32 %r21, %r20, %r9;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r21];\nbra $end;\n";
  const std::string receive = "$wait:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r20], 0;\n"
                              "@!%p3 bra $wait;\nld.shared.b32 %r9, [%r5];\nst.global.b32 [%rd1], %r9;\n$end:\n";
  const std::string body = kBegin + init + send + receive;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Outcome outcome = pair(body, seed);
    ASSERT_EQ(outcome.error, "");
    EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
    EXPECT_EQ(outcome.out[31], 131u);
  }
  std::string early = replaced(body, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r20], 0;\n", "");
  early = replaced(early, "@!%p3 bra $wait;\n", "");
  EXPECT_EQ(orders(early, {Kind::Race, Kind::UninitialisedMemory}), 8u);
  // Without the wait, block 0 may exit before block 1 has written.
  EXPECT_EQ(orders(replaced(body, receive, "$wait:\n$end:\n"), {Kind::ExitedBlock}), 8u);
  // Without the cluster's barrier, the mbarrier may not be initialized yet.
  EXPECT_EQ(orders(replaced(body, "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n", ""),
                   {Kind::MbarrierMisuse, Kind::Race}),
            8u);
  EXPECT_EQ(orders(replaced(body, "@!%p1 fence.mbarrier_init.release.cluster;\n", ""), {Kind::Race}), 8u);
  EXPECT_GE(pair(replaced(body, "b64 _, [%r21]", "b64 %rd5, [%r21]")).count(Kind::BadOperand), 1u);
  EXPECT_GE(pair(replaced(body, "[%r20], 32", "[%r20], 31")).count(Kind::MbarrierMisuse), 1u);
  // A block cannot wait for the mbarrier of another block.
  EXPECT_GE(pair(kBegin + init +
                 "mov.b32 %r9, 0;\nmapa.shared::cluster.u32 %r21, %r20, %r9;\n"
                 "mbarrier.test_wait.parity.b64 %p3, [%r21], 0;\n$wait:\n")
                .count(Kind::BadOperand),
            1u);
}

/// Two blocks have one mbarrier each. The first block loads 128 bytes for both.
const std::string kPrepare = "@!%p1 mbarrier.init.shared.b64 [%r20], 1;\n@!%p1 fence.mbarrier_init.release.cluster;\n"
                             "@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r20], 128;\n" +
                             kSync;
const std::string kAwait = "$wait:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r20], 0;\n@!%p3 bra $wait;\n";
const std::string kOwn = "ld.shared.b32 %r9, [%r5];\nst.global.b32 [%rd1], %r9;\n";

TEST(Cluster, AMulticastFillsAllBlocks) {
  const std::string load = "mov.b16 %h1, 3;\nor.pred %p4, %p1, %p2;\nmov.b32 %r21, s;\n"
                           "@!%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                           "[%r21], [%rd31], 128, [%r20], %h1;\n";
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i)
    in[i] = 7 * i;
  auto run = [&](const std::string &body, uint64_t seed = 0) {
    return runBody(body, clusters({2, 1, 1}, {2, 1, 1}, 32, seed), 1024, in, kShared);
  };
  const std::string body = kBegin + kPrepare + load + kAwait + kOwn;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Outcome outcome = run(body, seed);
    ASSERT_EQ(outcome.error, "");
    EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(outcome.out[i], i % 32 * 7);
  }
  EXPECT_GE(run(replaced(body, "%h1, 3", "%h1, 1")).count(Kind::Deadlock), 1u);
  EXPECT_GE(run(replaced(body, "%h1, 3", "%h1, 7")).count(Kind::BadOperand), 1u);
  EXPECT_GE(run(replaced(body, "%h1, 3", "%h1, 0")).count(Kind::BadOperand), 1u);
  EXPECT_GE(run(replaced(body, kAwait, "")).count(Kind::AsyncNotWaited), 1u);
  EXPECT_GE(run(replaced(body, "[%rd31], 128", "[%rd31], 112")).count(Kind::Deadlock), 1u);
  for (uint64_t seed = 0; seed < 8; ++seed) { // the other block's mbarrier may be uninitialized
    Outcome early = run(replaced(body, kSync, ""), seed);
    EXPECT_GE(early.count(Kind::MbarrierMisuse) + early.count(Kind::Race), 1u);
  }
  // The destination and the mbarrier of a copy must be in the memory of the same block.
  std::string mixed =
      replaced(body, ".multicast::cluster [%r21], [%rd31], 128, [%r20], %h1", " [%r22], [%rd31], 128, [%r20]");
  mixed = replaced(mixed, "mov.b16 %h1, 3;\n", "mov.b32 %r21, s;\nmapa.shared::cluster.u32 %r22, %r21, 1;\n");
  EXPECT_GE(run(mixed).count(Kind::BadOperand), 1u);
}

TEST(Cluster, TensorBoxIsMulticastToAllBlocks) {
  // Loads a box of 8 x 4 words of a tensor of 10 x 3, beginning at row 1. Rows past the end are 0 in both blocks.
  std::vector<uint32_t> tensor(1024);
  for (uint32_t i = 0; i < 36; ++i)
    tensor[i] = i / 12 * 100 + i % 12;
  TensorMap map = tensorMap(TensorMap::Element::U32, tensor.data(), {10, 3}, {48}, {8, 4}, 0);
  std::string text =
      kernel(kBegin + kPrepare +
                 "mov.b16 %h1, 3;\nor.pred %p4, %p1, %p2;\nmov.b32 %r21, s;\nmov.b64 %rd2, map;\n"
                 "cvta.param.u64 %rd2, %rd2;\n@!%p4 cp.async.bulk.tensor.2d.shared::cluster.global."
                 "mbarrier::complete_tx::bytes.multicast::cluster [%r21], [%rd2, {0, 1}], [%r20], %h1;\n" +
                 kAwait + kOwn,
             replaced(kShared, "align 16", "align 128"));
  text = replaced(text, ".param .u64 in)", ".param .u64 in, .param .align 64 .b8 map[128])");
  std::string error;
  std::unique_ptr<Module> module = Module::read(text, "test.ptx", error);
  ASSERT_TRUE(module) << error;
  std::vector<uint32_t> out(64, 77);
  Memory memory;
  memory.add(out.data(), 256, "out");
  memory.add(tensor.data(), 144, "tensor");
  Launch launch = clusters({2, 1, 1}, {2, 1, 1});
  launch.kernel = "k";
  std::optional<Report> report =
      run(*module, memory, launch, {argument(out.data()), argument(tensor.data()), argument(map)}, error);
  ASSERT_TRUE(report) << error;
  EXPECT_TRUE(report->findings.empty()) << report->text();
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i % 32 / 8 < 2 ? (i % 32 / 8 + 1) * 100 + i % 8 : 0) << i;
}

TEST(AsyncCopy, AnMbarrierWaitsForCopies) {
  // 32 threads copy four words each; the mbarrier expects 32 arrivals.
  std::vector<uint32_t> in(128);
  for (uint32_t i = 0; i < 128; ++i)
    in[i] = i + 1;
  const std::string begin = "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nmov.b32 %r3, t;\nadd.s32 %r4, %r3, %r2;\n"
                            "cvt.u64.u32 %rd1, %r2;\nadd.s64 %rd2, %rd31, %rd1;\nmov.b32 %r20, bar;\n"
                            "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [%r20], 32;\nbar.sync 0;\n"
                            "cp.async.cg.shared.global [%r4], [%rd2], 16;\n";
  const std::string arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [%r20];\n";
  // Each thread reads a word that the next thread has copied.
  const std::string rest =
      "add.s32 %r5, %r1, 1;\nand.b32 %r5, %r5, 31;\nshl.b32 %r6, %r5, 4;\nadd.s32 %r6, %r6, %r3;\n"
      "ld.shared.b32 %r7, [%r6];\nshl.b32 %r8, %r1, 2;\ncvt.u64.u32 %rd3, %r8;\nadd.s64 %rd3, %rd3, "
      "%rd30;\nst.global.b32 [%rd3], %r7;\n";
  auto run = [&](const std::string &body, uint64_t seed = 0) {
    return runBody(body, threads(32, 1, seed), 64, in, ".shared .align 16 .b8 t[512];\n" + kShared);
  };
  auto right = [&](const std::string &body) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Outcome outcome = run(body, seed);
      ASSERT_EQ(outcome.error, "");
      EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
      EXPECT_EQ(outcome.out[0], 5u); // the second thread's first word
      EXPECT_EQ(outcome.out[31], 1u);
    }
  };
  right(begin + arrive + kAwait + rest);
  // Without .noinc, the arrival of the copies does not reduce the expected count: each thread must arrive, too.
  const std::string more = "cp.async.mbarrier.arrive.shared::cta.b64 [%r20];\n";
  right(begin + more + "mbarrier.arrive.shared.b64 _, [%r20];\n" + kAwait + rest);
  // An additional wait for the group is allowed.
  right(begin + arrive + "cp.async.wait_all;\n" + kAwait + rest);
  EXPECT_GE(run(begin + arrive + rest).count(Kind::AsyncNotWaited), 1u);
  EXPECT_GE(run(begin + "mbarrier.arrive.shared.b64 _, [%r20];\n" + kAwait + rest).count(Kind::AsyncNotWaited), 1u);
  EXPECT_GE(run(begin + more + kAwait + rest).count(Kind::Deadlock), 1u);
  EXPECT_GE(
      run(replaced(begin, "@!%p1 mbarrier.init.shared.b64 [%r20], 32;\n", "") + arrive).count(Kind::MbarrierMisuse),
      1u);
}

TEST(Bulk, ReductionsWithoutATensorMap) {
  // Reduces 32 words of shared memory (thread i has written i + 1) into 32 global words, which are initially 100 + i.
  std::vector<uint32_t> in(1, 0);
  auto run = [&](const std::string &operation, const std::string &word, uint32_t first) {
    std::string body =
        "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.b32 %r3, s;\nadd.s32 %r4, %r3, %r2;\n"
        "mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd1, %rd30;\nadd.s32 %r5, %r1, 1;\n" +
        word + "st.shared.b32 [%r4], %r5;\nadd.s32 %r6, %r1, 100;\n" + (first ? "cvt.rn.f32.u32 %r6, %r6;\n" : "") +
        "st.global.b32 [%rd1], %r6;\nsetp.ne.u32 %p1, %r1, 0;\nfence.proxy.async;\nbar.sync 0;\n"
        "@!%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group" +
        operation + " [%rd30], [%r3], 128;\n@!%p1 cp.async.bulk.commit_group;\n@!%p1 cp.async.bulk.wait_group 0;\n";
    Outcome outcome = runBody(body, threads(32), 64, in, kShared);
    EXPECT_EQ(outcome.error, "");
    EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
    return outcome.out[31];
  };
  EXPECT_EQ(run(".add.u32", "", 0), 131u + 32);
  EXPECT_EQ(run(".min.s32", "", 0), 32u);
  EXPECT_EQ(run(".max.u32", "", 0), 131u);
  EXPECT_EQ(run(".and.b32", "", 0), 131u & 32u);
  EXPECT_EQ(run(".or.b32", "", 0), 131u | 32u);
  EXPECT_EQ(run(".xor.b32", "", 0), 131u ^ 32u);
  EXPECT_EQ(run(".add.f32", "cvt.rn.f32.u32 %r5, %r5;\n", 1), 0x43230000u); // 163.0f
  EXPECT_NE(runBody("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%rd30], [%r3], 128;\n")
                .error.find("unknown instruction"),
            std::string::npos);
}

} // namespace
