//===- AsyncTest.cpp - mbarrier and bulk copies, one instruction at a time -------------------===//
//
// The expected values were derived manually from the text of the PTX ISA.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "tilewright/PtxTensorMap.h"

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

const std::string kBar = ".shared .align 8 .b8 bar[16];\n";

/// Runs `body` in one thread and stores `results` registers, beginning with %r10, in `out`.
Outcome single(const std::string &body, uint32_t results) {
  std::string text = "mov.b32 %r1, bar;\n" + body;
  for (uint32_t i = 0; i < results; ++i)
    text += "st.global.b32 [%rd30+" + std::to_string(4 * i) + "], %r" + std::to_string(10 + i) + ";\n";
  return runBody(text, threads(1), 8, {}, kBar);
}

TEST(Mbarrier, PhasesAndPendingCounts) {
  // With an expected count of 3, three arrivals complete phase 0. The state that an arrival returns contains the number
  // of arrivals that were pending before this arrival.
  Outcome outcome =
      single("mbarrier.init.shared.b64 [%r1], 3;\n"
             "mbarrier.arrive.shared.b64 %rd1, [%r1];\n"
             "mbarrier.pending_count.b64 %r10, %rd1;\n"
             "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;\nselp.b32 %r11, 1, 0, %p1;\n"
             "mbarrier.arrive.noComplete.shared.b64 %rd2, [%r1], 1;\n"
             "mbarrier.pending_count.b64 %r12, %rd2;\n"
             "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1];\n"
             "mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [%r1], %rd1;\nselp.b32 %r13, 1, 0, %p1;\n"
             "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\nselp.b32 %r14, 1, 0, %p1;\n"
             "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;\nselp.b32 %r15, 1, 0, %p1;\n"
             "mbarrier.inval.shared.b64 [%r1];\n",
             6);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  EXPECT_EQ(std::vector<uint32_t>(outcome.out.begin(), outcome.out.begin() + 6),
            (std::vector<uint32_t>{3, 0, 2, 1, 1, 0}));
}

TEST(Mbarrier, DropsAndBytes) {
  // One of the two arrivals is arrive_drop, so the next phase needs one arrival. Pending bytes delay the end of a
  // phase.
  Outcome outcome = single("mbarrier.init.b64 [bar], 2;\nmbarrier.arrive_drop.shared.b64 _, [%r1];\n"
                           "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 48;\n"
                           "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\nselp.b32 %r10, 1, 0, %p1;\n"
                           "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 16;\n"
                           "mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 64;\n"
                           "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\nselp.b32 %r11, 1, 0, %p1;\n"
                           "mbarrier.arrive.shared.b64 %rd1, [%r1];\nmbarrier.pending_count.b64 %r12, %rd1;\n"
                           "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;\nselp.b32 %r13, 1, 0, %p1;\n",
                           4);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  EXPECT_EQ(std::vector<uint32_t>(outcome.out.begin(), outcome.out.begin() + 4), (std::vector<uint32_t>{0, 1, 1, 1}));
}

TEST(Mbarrier, Misuse) {
  const std::string init = "mbarrier.init.shared.b64 [%r1], 1;\n";
  auto misuses = [](const std::string &body) { return single(body, 0).count(Kind::MbarrierMisuse); };
  EXPECT_EQ(misuses("mbarrier.arrive.shared.b64 _, [%r1];\n"), 1u);
  EXPECT_EQ(misuses(init + "mbarrier.arrive.shared.b64 _, [%r1], 2;\n"), 1u);
  EXPECT_EQ(misuses(init + "mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 1;\n"), 1u);
  EXPECT_EQ(misuses(init + init), 1u);
  EXPECT_EQ(misuses(init + "st.shared.b32 [%r1+4], %r1;\n"), 1u);
  EXPECT_EQ(misuses(init + "mbarrier.inval.shared.b64 [%r1];\nmbarrier.arrive.shared.b64 _, [%r1];\n"), 1u);
  EXPECT_EQ(misuses(init + "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 1048576;\n"), 1u);
  EXPECT_EQ(misuses(init + "mbarrier.arrive.shared.b64 %rd1, [%r1];\nmbarrier.arrive.shared.b64 _, [%r1];\n"
                           "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;\n"),
            1u); // the state is two phases old
  EXPECT_EQ(single("mbarrier.init.shared.b64 [%r1], 0;\n", 0).count(Kind::BadOperand), 1u);
  EXPECT_EQ(single("mbarrier.init.shared.b64 [%r1+4], 1;\n", 0).count(Kind::Misaligned), 1u);
  EXPECT_EQ(single("mbarrier.init.shared.b64 [%r1+16], 1;\n", 0).count(Kind::OutOfBounds), 1u);
  EXPECT_EQ(single(init + "$w:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;\n@!%p1 bra $w;\n", 0)
                .count(Kind::Deadlock),
            1u);
}

TEST(Mbarrier, ArrivalsOfAWarpAreInOnePhase) {
  // 32 lanes arrive. With a count of 32 or 64, all arrivals are in one phase. With 31, the last arrival is in the next
  // phase.
  auto misuses = [](const char *count) {
    return runBody("mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [bar], " +
                       std::string(count) + ";\nbar.sync 0;\nmbarrier.arrive.shared.b64 _, [bar];\n",
                   threads(32), 8, {}, kBar)
        .count(Kind::MbarrierMisuse);
  };
  EXPECT_EQ(misuses("32"), 0u);
  EXPECT_EQ(misuses("64"), 0u);
  EXPECT_EQ(misuses("31"), 1u);
  EXPECT_EQ(misuses("16"), 1u);
}

TEST(Mbarrier, OrdersEarlierAccesses) {
  // Warp 0 writes and arrives, warp 1 waits and reads.
  std::string body =
      "mov.u32 %r1, %tid.x;\nmov.b32 %r2, bar;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 "
      "[%r2], 32;\nbar.sync 0;\nsetp.lt.u32 %p2, %r1, 32;\nshl.b32 %r3, %r1, 2;\nand.b32 %r3, %r3, "
      "127;\nmov.b32 %r4, s;\nadd.s32 %r4, %r4, %r3;\n@!%p2 bra $wait;\nst.shared.b32 [%r4], %r1;\n"
      "mbarrier.arrive.shared.b64 _, [%r2];\nret;\n$wait:\nmbarrier.try_wait.parity.shared.b64 %p3, "
      "[%r2], 0;\n@!%p3 bra $wait;\nld.shared.b32 %r5, [%r4];\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 "
      "%rd1, %rd1, %rd30;\nst.global.b32 [%rd1], %r5;\n";
  uint64_t found = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Outcome right = runBody(body, threads(64, 1, seed), 64, {}, kBar + ".shared .align 16 .b8 s[128];\n");
    ASSERT_EQ(right.error, "");
    EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
    EXPECT_EQ(right.out[63], 31u);
    std::string wrong = body;
    wrong.erase(wrong.find("@!%p3 bra $wait;\n"), 17);
    Outcome bad = runBody(wrong, threads(64, 1, seed), 64, {}, kBar + ".shared .align 16 .b8 s[128];\n");
    found += bad.count(Kind::Race) + bad.count(Kind::UninitialisedMemory) != 0;
  }
  EXPECT_GE(found, 4u); // in the other orders, the reading warp ran after the writing warp
}

//===--- copies ---===//
/// Runs a kernel of 32 threads with a tensor map at %rd1. s has 1024 bytes; %r3 is the address of the thread's word.
Outcome withMap(const std::string &body, const TensorMap &map, std::vector<uint32_t> &tensor) {
  std::string text =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .align 64 .b8 "
      "map[128]) {\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.shared .align 8 .b8 bar[8];\n.shared "
      ".align 1024 .b8 s[1024];\nld.param.b64 %rd2, [out];\nmov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nmov.u32 "
      "%r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\nshl.b32 %r2, %r1, 2;\nmov.b32 %r3, s;\nadd.s32 %r3, %r3, %r2;\nmov.b32 "
      "%r4, s;\nmov.b32 %r5, bar;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd3, %rd3, %rd2;\n" +
      body + "ret;\n}\n";
  Outcome outcome;
  Launch launch = threads(32);
  launch.kernel = "k";
  std::unique_ptr<Module> module = Module::read(text, "test.ptx", outcome.error);
  if (!module)
    return outcome;
  outcome.out.reserve(1024); // the capacity ensures that accesses past the end do not reach another allocation
  outcome.out.assign(32, 77);
  Memory memory;
  memory.add(outcome.out.data(), 128, "out");
  memory.add(tensor.data(), tensor.size() * 4, "tensor");
  std::optional<Report> report =
      run(*module, memory, launch, {argument(outcome.out.data()), argument(map)}, outcome.error);
  if (report)
    outcome.report = *report;
  return outcome;
}
/// Returns 3 rows of 12 words, of which 10 belong to the tensor. The word at row i and column j is 100 * i + j.
std::vector<uint32_t> threeRows() {
  std::vector<uint32_t> tensor;
  tensor.reserve(1024);
  tensor.resize(36);
  for (uint32_t i = 0; i < 36; ++i)
    tensor[i] = i / 12 * 100 + i % 12;
  return tensor;
}
TensorMap mapOf(const std::vector<uint32_t> &tensor) {
  return tensorMap(TensorMap::Element::U32, tensor.data(), {10, 3}, {48}, {8, 4}, 0);
}
const std::string kInit =
    "@%p1 mbarrier.init.shared.b64 [%r5], 1;\n@%p1 fence.mbarrier_init.release.cluster;\nbar.sync "
    "0;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 128;\n";
const std::string kAwait = "$w:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0;\n@!%p3 bra $w;\n";
const std::string kOut = "ld.shared.b32 %r7, [%r3];\nst.global.b32 [%rd3], %r7;\n";

TEST(Bulk, TensorLoadFillsElementsOutOfBounds) {
  std::vector<uint32_t> tensor = threeRows();
  std::string load = "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], "
                     "[%rd1, {6, -1}], [%r5];\n";
  Outcome outcome = withMap(kInit + load + kAwait + kOut, mapOf(tensor), tensor);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t i = 0; i < 32; ++i) {
    int row = int(i / 8) - 1, column = int(i % 8) + 6;
    EXPECT_EQ(outcome.out[i], row >= 0 && column < 10 ? uint32_t(row * 100 + column) : 0u) << i;
  }
  EXPECT_GE(withMap(kInit + load + kOut, mapOf(tensor), tensor).count(Kind::AsyncNotWaited), 1u);
  TensorMap wrong = mapOf(tensor);
  wrong.box[0] = 7;
  EXPECT_EQ(withMap(kInit + load, wrong, tensor).count(Kind::BadOperand), 1u);
  wrong = mapOf(tensor);
  wrong.dims[1] = 4; // more rows than the allocation has
  std::string last = load;
  last.replace(last.find("{6, -1}"), 7, "{0, 2}");
  EXPECT_GE(withMap(kInit + last, wrong, tensor).count(Kind::OutOfBounds), 1u);
}

TEST(Bulk, WindowLoadsVisitPixelsOfAllImages) {
  // The tensor has two images of 3 lines of 5 pixels with four channels. The element of image n, line h, column w and
  // channel c is 1000 n + 100 h + 10 w + c. Windows begin at columns -1, 1, 3 and lines 0, 1.
  std::vector<uint32_t> tensor;
  tensor.reserve(1024);
  for (uint32_t n = 0; n < 2; ++n)
    for (uint32_t h = 0; h < 3; ++h)
      for (uint32_t w = 0; w < 5; ++w)
        for (uint32_t c = 0; c < 4; ++c)
          tensor.push_back(1000 * n + 100 * h + 10 * w + c);
  auto map = [&](int lower, uint32_t step) {
    return windowMap(TensorMap::Element::U32, tensor.data(), {4, 5, 3, 2}, {16, 80, 240},
                     {{lower, 0}, {-1, -1}, {1, step, 1, 1}, /*channels=*/4, /*pixels=*/8}, 0);
  };
  auto load = [](const std::string &at, const std::string &offsets) {
    return "@%p1 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r4], [%rd1, {" +
           at + "}], [%r5], {" + offsets + "};\n";
  };
  // The load begins at the second window of the second line of the first image. The tap is one column to the right of
  // the window's first pixel and one line below.
  Outcome outcome = withMap(kInit + load("2, 1, 1, 0", "1, 1") + kAwait + kOut, map(-1, 2), tensor);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t window = 4 + i / 4, c = 2 + i % 4; // the last two channels are outside of the tensor
    const uint32_t n = window / 6, h = window / 3 % 2 + 1, w = window % 3 * 2;
    EXPECT_EQ(outcome.out[i], c < 4 ? 1000 * n + 100 * h + 10 * w + c : 0) << i;
  }
  // In the last window of a line, the tap three columns to the right is outside of the image. Windows after the second
  // image are zeros.
  outcome = withMap(kInit + load("0, -1, 1, 1", "3, 0") + kAwait + kOut, map(-1, 2), tensor);
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t window = i / 4, w = window % 3 * 2 + 2;
    EXPECT_EQ(outcome.out[i], window < 3 && w < 5 ? 1100 + 10 * w + i % 4 : 0) << i;
  }
  // The coordinates of a load must be those of one of the map's windows.
  for (const char *at : {"0, 0, 0, 0", "0, 5, 0, 0", "0, 1, 2, 0", "0, -3, 0, 0"})
    EXPECT_EQ(withMap(kInit + load(at, "0, 0"), map(-1, 2), tensor).count(Kind::BadOperand), 1u) << at;
  EXPECT_EQ(withMap(kInit + load("0, 1, 0, 0", "256, 0"), map(-1, 2), tensor).count(Kind::BadOperand), 1u);
  for (const TensorMap &wrong : {map(-129, 2), map(4, 2), map(-1, 9)})
    EXPECT_EQ(withMap(kInit + load("0, 3, 0, 0", "0, 0"), wrong, tensor).count(Kind::BadOperand), 1u);
  // The tensor map and the instruction must have the same mode.
  std::string tiled = load("0, 1, 0, 0", "0, 0");
  tiled.replace(tiled.find(".im2col"), 7, "");
  tiled.replace(tiled.find(", {0, 0}"), 8, "");
  EXPECT_EQ(withMap(kInit + tiled, map(-1, 2), tensor).count(Kind::BadOperand), 1u);
  TensorMap boxes = tensorMap(TensorMap::Element::U32, tensor.data(), {4, 5, 3, 2}, {16, 80, 240}, {4, 8, 1, 1}, 0);
  EXPECT_EQ(withMap(kInit + load("0, 1, 0, 0", "0, 0"), boxes, tensor).count(Kind::BadOperand), 1u);
}

TEST(Bulk, LoadsOfTf32RoundToNearest) {
  // A tf32 number has a mantissa of 10 bits. Each pair is an f32 number and the same number rounded to tf32.
  const std::pair<uint32_t, uint32_t> numbers[] = {
      {0x3f800000, 0x3f800000}, // 1
      {0x3f800fff, 0x3f800000}, // just below the midpoint of two tf32 numbers
      {0x3f801000, 0x3f802000}, // a midpoint is rounded away from zero
      {0xbf803000, 0xbf804000}, {0x3fffffff, 0x40000000}, {0x7f7fffff, 0x7f800000},
      {0x7f800000, 0x7f800000}, {0x00001fff, 0x00002000}, // a subnormal number
  };
  std::vector<uint32_t> tensor;
  for (uint32_t i = 0; i < 32; ++i)
    tensor.push_back(numbers[i % std::size(numbers)].first);
  TensorMap map = tensorMap(TensorMap::Element::TF32, tensor.data(), {32}, {}, {32}, 0);
  std::string load = "@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], "
                     "[%rd1, {0}], [%r5];\n";
  Outcome outcome = withMap(kInit + load + kAwait + kOut, map, tensor);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(outcome.out[i], numbers[i % std::size(numbers)].second) << i;
  map.element = TensorMap::Element(10); // FLOAT32_FTZ, which the interpreter does not support
  EXPECT_EQ(withMap(kInit + load, map, tensor).count(Kind::BadOperand), 1u);
}

TEST(Bulk, SwizzlesPermuteChunksByLine) {
  // 4 rows of 32 bytes are in one line of 128 bytes. Chunk c at byte address a is stored at chunk c ^ (a / 128 & 1).
  std::vector<uint32_t> tensor(64);
  for (uint32_t i = 0; i < 64; ++i)
    tensor[i] = i;
  TensorMap map = tensorMap(TensorMap::Element::U32, tensor.data(), {8, 8}, {32}, {8, 8}, 32);
  std::string load = "@%p1 mbarrier.expect_tx.shared.b64 [%r5], 128;\n@%p1 "
                     "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1, {0, "
                     "0}], [%r5];\n";
  Outcome outcome = withMap(kInit + load + kAwait + "add.s32 %r3, %r3, 128;\n" + kOut, map, tensor);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t i = 0; i < 32; ++i) // in the second line, the halves of a row are swapped
    EXPECT_EQ(outcome.out[i], 32 + (i ^ 4)) << i;
}

TEST(Bulk, StoresAndReductions) {
  std::string write = "st.shared.b32 [%r3], %r1;\n", fence = "fence.proxy.async.shared::cta;\n", sync = "bar.sync 0;\n",
              rest = "@%p1 cp.async.bulk.commit_group;\n", wait = "@%p1 cp.async.bulk.wait_group 0;\n";
  std::string store = "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {4, 1}], [%r4];\n";
  std::vector<uint32_t> tensor = threeRows();
  Outcome right = withMap(write + fence + sync + store + rest + wait, mapOf(tensor), tensor);
  ASSERT_EQ(right.error, "");
  EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
  for (uint32_t i = 0; i < 36; ++i) {
    uint32_t row = i / 12, column = i % 12;
    bool inside = row >= 1 && column >= 4 && column < 10;
    EXPECT_EQ(tensor[i], inside ? (row - 1) * 8 + column - 4 : row * 100 + column) << i;
  }
  EXPECT_GE(withMap(write + sync + store + rest + wait, mapOf(tensor), tensor).count(Kind::MissingProxyFence), 1u);
  EXPECT_GE(withMap(write + fence + sync + store + rest, mapOf(tensor), tensor).count(Kind::AsyncNotWaited), 1u);
  EXPECT_GE(withMap(write + fence + sync + store + wait, mapOf(tensor), tensor).count(Kind::AsyncNotWaited), 1u);
  EXPECT_GE(
      withMap(write + fence + sync + store + rest + write + wait, mapOf(tensor), tensor).count(Kind::AsyncNotWaited),
      1u);
  std::string read = "@%p1 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n";
  EXPECT_EQ(withMap(write + fence + sync + store + rest + read + write, mapOf(tensor), tensor).report.findings.size(),
            0u);
  tensor = threeRows();
  std::string reduce = "@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {0, 0}], "
                       "[%r4];\n";
  Outcome sum = withMap(write + fence + sync + reduce + rest + wait, mapOf(tensor), tensor);
  ASSERT_EQ(sum.error, "");
  EXPECT_TRUE(sum.report.findings.empty()) << sum.report.text();
  EXPECT_EQ(tensor[12 + 3], 103u + 8 + 3);
  EXPECT_EQ(tensor[12 + 8], 108u);
}

TEST(Bulk, OneDimensionAndItsLimits) {
  std::vector<uint32_t> tensor = threeRows();
  std::string load = "mov.b64 %rd4, %rd2;\n@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%r4], [%rd4], 128, [%r5];\n";
  Outcome outcome = withMap(kInit + load + kAwait +
                                "ld.shared.b32 %r7, [%r3];\nadd.s32 %r7, %r7, 1;\nst.global.b32 "
                                "[%rd3], %r7;\n",
                            mapOf(tensor), tensor);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  EXPECT_EQ(outcome.out[31], 78u);
  auto replaced = [&](std::string from, std::string to) {
    std::string text = kInit + load + kAwait;
    return withMap(text.replace(text.find(from), from.size(), to), mapOf(tensor), tensor);
  };
  EXPECT_EQ(replaced("], 128, [%r5]", "], 120, [%r5]").count(Kind::Misaligned), 1u);
  EXPECT_EQ(replaced("], 128, [%r5]", "], 1040, [%r5]").count(Kind::OutOfBounds), 1u);
  EXPECT_EQ(replaced("], 128, [%r5]", "], 144, [%r5]").count(Kind::OutOfBounds), 1u);
  EXPECT_EQ(replaced("], 128, [%r5]", "], 112, [%r5]").count(Kind::Deadlock), 1u);
  EXPECT_EQ(replaced("[%rd4]", "[%rd4+4]").count(Kind::Misaligned), 1u);
  EXPECT_GE(replaced("@%p1 fence.mbarrier_init.release.cluster;\n", "").count(Kind::MissingProxyFence), 1u);
}

} // namespace
