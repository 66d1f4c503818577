//===- WgmmaGemmTest.cpp - a kernel with TMA, mbarriers and wgmma, with and without bugs ----===//
//
// test/Tools/Inputs/ptx/gemm-wgmma.ptx has a producer warp group, a ring of three stages, and two consumer warp groups.
// Each defect is a change of its text that the checker must detect. The checker must report no error for the unchanged
// kernel.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "tilewright/PtxTensorMap.h"

#include <bit>
#include <cmath>
#include <random>

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

struct Product {
  uint32_t m, n, k;
  std::vector<uint16_t> a, b;
  std::vector<float> c;
  uint8_t swizzle = 128;
  uint32_t boxRows = 128;

  Product(uint32_t m, uint32_t n, uint32_t k) : m(m), n(n), k(k), a(m * k + 8), b(n * k + 8), c(m * n) {
    std::mt19937 random(3);
    for (auto *matrix : {&a, &b})
      for (uint16_t &x : *matrix) // bf16 in [-1, 1)
        x = uint16_t(std::bit_cast<uint32_t>(float(int32_t(random())) * 0x1p-31f) >> 16);
  }
  static double value(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
  /// Returns a tensor map. Its base address must be a multiple of 16, which std::vector ensures.
  TensorMap map(const std::vector<uint16_t> &matrix, uint32_t rows) const {
    return tensorMap(TensorMap::Element::BF16, matrix.data(), {k, rows}, {k * 2}, {64, uint16_t(boxRows)}, swizzle);
  }

  std::optional<Report> run(const std::string &text, uint64_t seed, std::string &error, uint64_t stepLimit = 1 << 17) {
    std::unique_ptr<Module> module = Module::read(text, "gemm-wgmma.ptx", error);
    if (!module)
      return std::nullopt;
    Memory memory;
    memory.add(a.data(), m * k * 2, "A");
    memory.add(b.data(), n * k * 2, "B");
    memory.add(c.data(), m * n * 4, "C", false);
    Launch launch;
    launch.kernel = "gemm_wgmma";
    launch.grid = {n / 128, m / 128, 1};
    launch.block = {384, 1, 1};
    launch.dynamicShared = 98304;
    launch.seed = seed;
    launch.stepLimit = stepLimit;
    return tilewright::ptx::run(
        *module, memory, launch,
        {argument(map(a, m)), argument(map(b, n)), argument(c.data()), argument(n), argument(k / 64)}, error);
  }
  /// Returns true if the error of every element is at most 2^-22 times the sum of the magnitudes of its terms. This
  /// tolerance is for rounding in f32.
  bool isRight() const {
    for (uint32_t i = 0; i < m; ++i)
      for (uint32_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (uint32_t l = 0; l < k; ++l) {
          double product = value(a[i * k + l]) * value(b[j * k + l]);
          sum += product;
          size += std::fabs(product);
        }
        if (!(std::fabs(c[i * n + j] - sum) <= size * 0x1p-22))
          return false;
      }
    return true;
  }
};

TEST(WgmmaGemm, EqualsADoubleLoopWithoutErrors) {
  std::string text = readInput("gemm-wgmma.ptx"), error;
  for (uint64_t seed : {0, 1, 2}) {
    Product product(128, 256, 320);
    std::optional<Report> report = product.run(text, seed, error);
    ASSERT_TRUE(report) << error;
    EXPECT_TRUE(report->findings.empty()) << report->text();
    EXPECT_TRUE(report->finished);
    EXPECT_TRUE(product.isRight()) << "with seed " << seed;
  }
}

TEST(WgmmaGemm, WrongSwizzleReturnsWrongResults) {
  std::string text = readInput("gemm-wgmma.ptx"), error;
  Product product(128, 128, 64);
  product.swizzle = 0;
  std::optional<Report> report = product.run(text, 0, error);
  ASSERT_TRUE(report) << error;
  EXPECT_FALSE(product.isRight());
}

// Damaged text is rejected, or causes errors at run time, but no crash. The sanitizers detect invalid accesses.
TEST(WgmmaGemm, DamagedTextNeverCrashes) {
  std::string whole = readInput("gemm-wgmma.ptx"), error;
  std::mt19937 random(5);
  uint32_t read = 0;
  for (int round = 0; round < 24; ++round) {
    std::string text = whole;
    size_t begin = text.find("mbarrier.init"), end = text.find("st.global");
    for (int change = 0; change < 2; ++change) // changes digits: registers, offsets, sizes, counts
      for (size_t at = begin + random() % (end - begin); at < end; ++at)
        if (isdigit(uint8_t(text[at]))) {
          text[at] = char('0' + random() % 10);
          break;
        }
    Product product(128, 128, 192);
    read += product.run(text, uint64_t(round), error, 1500).has_value();
  }
  EXPECT_GE(read, 5u); // damaged texts that the parser rejects are not counted
}

struct Defect {
  const char *name;
  std::string from, to;
  uint32_t which; ///< index among the occurrences of `from`
  std::vector<Kind> kinds;
};

const std::vector<Defect> &defects() {
  static const std::vector<Defect> list = {
      {"NoWaitForTheTile", "\t@!%p3 bra $filled;\n", "", 0, {Kind::AsyncNotWaited, Kind::UninitialisedMemory}},
      {"NoWaitForTheFreeStage", "\t@!%p3 bra $free;\n", "", 0, {Kind::AsyncNotWaited, Kind::Race}},
      {"WrongPhaseOfTheTile",
       "mov.b32 %r12, 0;",
       "mov.b32 %r12, 1;",
       0,
       {Kind::AsyncNotWaited, Kind::UninitialisedMemory}},
      {"WrongPhaseOfTheStage", "mov.b32 %r13, 1;", "mov.b32 %r13, 0;", 0, {Kind::Deadlock}},
      {"PhaseNeverFlips", "\t@%p4 xor.b32 %r12, %r12, 1;\n", "", 0, {Kind::AsyncNotWaited, Kind::Race, Kind::Deadlock}},
      {"ProducersPhaseNeverFlips", "\t@%p4 xor.b32 %r13, %r13, 1;\n", "", 0, {Kind::AsyncNotWaited, Kind::Race}},
      {"TooFewBytes", "[%r16], 32768;", "[%r16], 16384;", 0, {Kind::AsyncNotWaited, Kind::Deadlock}},
      {"TooManyBytes", "[%r16], 32768;", "[%r16], 32784;", 0, {Kind::Deadlock}},
      {"ExpectsNothing",
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r16], 32768;",
       "mbarrier.arrive.shared::cta.b64 _, [%r16];",
       0,
       {Kind::AsyncNotWaited}},
      {"NoArrival", "\tmbarrier.arrive.shared::cta.b64 _, [%r15];\n", "", 0, {Kind::Deadlock}},
      {"ArrivesAtTheOther",
       "mbarrier.arrive.shared::cta.b64 _, [%r15];",
       "mbarrier.arrive.shared::cta.b64 _, [%r16];",
       0,
       {Kind::Deadlock, Kind::MbarrierMisuse}},
      {"ArrivesBeforeTheProductsAreDone",
       "\twgmma.wait_group.sync.aligned 0;\n\tmbarrier.arrive.shared::cta.b64 _, [%r15];\n",
       "\tmbarrier.arrive.shared::cta.b64 _, [%r15];\n\twgmma.wait_group.sync.aligned 0;\n",
       0,
       {Kind::AsyncNotWaited, Kind::Race}},
      {"OneGroupMayGoOn",
       "wait_group.sync.aligned 0;",
       "wait_group.sync.aligned 1;",
       0,
       {Kind::AsyncNotWaited, Kind::RegisterInFlight}},
      {"NoProductWait", "\twgmma.wait_group.sync.aligned 0;\n", "", 0, {Kind::RegisterInFlight, Kind::AsyncNotWaited}},
      {"NoCommit", "\twgmma.commit_group.sync.aligned;\n", "", 0, {Kind::RegisterInFlight, Kind::AsyncNotWaited}},
      {"NoMatrixFence", "\twgmma.fence.sync.aligned;\n", "", 0, {Kind::MissingMatrixFence}},
      {"NoInitFence", "\tfence.mbarrier_init.release.cluster;\n", "", 0, {Kind::MissingProxyFence}},
      {"NoBarrierBehindTheInit", "\tbar.sync 0;\n", "", 0, {Kind::Race, Kind::MbarrierMisuse}},
      {"OneMbarrierNotInitialised", "\tmbarrier.init.shared::cta.b64 [%r7+16], 1;\n", "", 0, {Kind::MbarrierMisuse}},
      {"CountTooSmall",
       "[%r8+8], 256;",
       "[%r8+8], 128;",
       0,
       {Kind::AsyncNotWaited, Kind::Race, Kind::MbarrierMisuse, Kind::Deadlock}},
      {"CountTooLarge", "[%r8], 256;", "[%r8], 257;", 0, {Kind::Deadlock}},
      {"AccumulatesOnNothing",
       "setp.ne.u32 %p6, %r3, %r3;",
       "setp.eq.u32 %p6, %r3, %r3;",
       0,
       {Kind::UninitialisedRegister}},
      {"OneStageTooMany",
       "setp.eq.u32 %p4, %r11, 3;",
       "setp.eq.u32 %p4, %r11, 4;",
       0,
       {Kind::OutOfBounds, Kind::MbarrierMisuse}},
      {"ConsumersTakeTwoStages",
       "setp.eq.u32 %p4, %r11, 3;",
       "setp.eq.u32 %p4, %r11, 2;",
       1,
       {Kind::Deadlock, Kind::AsyncNotWaited, Kind::Race}},
      {"StageOfHalfTheSize",
       "shl.b32 %r17, %r11, 15;",
       "shl.b32 %r17, %r11, 14;",
       0,
       {Kind::AsyncNotWaited, Kind::Race, Kind::UninitialisedMemory}},
      {"TileNotAligned", "add.s32 %r18, %r17, 16384;", "add.s32 %r18, %r17, 16256;", 0, {Kind::Misaligned}},
      {"ProducersKeepTheirRegisters",
       "setmaxnreg.dec.sync.aligned.u32 40;",
       "setmaxnreg.dec.sync.aligned.u32 64;",
       0,
       {Kind::Deadlock}},
      {"MoreRegistersThanThereAre",
       "setmaxnreg.inc.sync.aligned.u32 232;",
       "setmaxnreg.inc.sync.aligned.u32 240;",
       0,
       {Kind::Deadlock}},
      {"RegistersNoMultipleOf8",
       "setmaxnreg.inc.sync.aligned.u32 232;",
       "setmaxnreg.inc.sync.aligned.u32 230;",
       0,
       {Kind::BadOperand}},
      {"ProducerStopsEarly", "setp.lt.u32 %p5, %r10, %r3;", "setp.lt.u32 %p5, %r10, 2;", 0, {Kind::Deadlock}},
      {"ProducerLoadsTooMany", "setp.lt.u32 %p5, %r10, %r3;", "setp.le.u32 %p5, %r10, %r3;", 0, {Kind::AsyncNotWaited}},
      {"OtherDescriptorsInOneWarp",
       "add.s32 %r22, %r6, 16384;",
       "and.b32 %r40, %r1, 32;\n\tshl.b32 %r40, %r40, 5;\n\tadd.s32 %r22, %r6, 16384;\n\tadd.s32 %r22, %r22, %r40;",
       0,
       {Kind::BarrierDivergence}},
      {"SharedTooSmall",
       "shl.b32 %r17, %r11, 15;",
       "shl.b32 %r17, %r11, 16;",
       1,
       {Kind::OutOfBounds, Kind::UninitialisedMemory}},
      {"AccumulatorTouchedInFlight",
       "\twgmma.commit_group.sync.aligned;\n",
       "\twgmma.commit_group.sync.aligned;\n\tadd.f32 %acc7, %acc7, %acc7;\n",
       0,
       {Kind::RegisterInFlight}},
      {"StoresOfOthersRows", "shl.b32 %r35, %r20, 6;", "shl.b32 %r35, %r20, 5;", 0, {Kind::Race}},
  };
  return list;
}

class PlantedInWgmma : public testing::TestWithParam<size_t> {};

TEST_P(PlantedInWgmma, IsDetected) {
  const Defect &defect = defects()[GetParam()];
  std::string text = readInput("gemm-wgmma.ptx"), error;
  size_t at = text.find(defect.from);
  for (uint32_t i = 0; i < defect.which && at != std::string::npos; ++i)
    at = text.find(defect.from, at + 1);
  ASSERT_NE(at, std::string::npos) << defect.from;
  text.replace(at, defect.from.size(), defect.to);
  // The seed determines which threads are late. Some defects cause an error only in certain orders of the threads.
  bool found = false;
  std::string reported;
  for (uint64_t seed = 1; seed <= 4 && !found; ++seed) {
    Product product(128, 128, 320);
    std::optional<Report> report = product.run(text, seed, error);
    ASSERT_TRUE(report) << error;
    for (const Finding &finding : report->findings)
      for (Kind kind : defect.kinds)
        found |= finding.kind == kind;
    reported += report->text();
  }
  EXPECT_TRUE(found) << reported;
}

INSTANTIATE_TEST_SUITE_P(WgmmaGemm, PlantedInWgmma, testing::Range(size_t(0), defects().size()),
                         [](const testing::TestParamInfo<size_t> &info) { return defects()[info.param].name; });

} // namespace
