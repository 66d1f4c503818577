//===- GemmTest.cpp - a tensor-core kernel, correct and with planted defects ------------===//
//
// test/Tools/Inputs/ptx/gemm-bf16.ptx uses ldmatrix, mma.sync, three stages of cp.async, and zero-filled rows. Each
// defect is a change of its text. The checker must detect every defect except for two, whose accesses are all valid. It
// must report no error for the unchanged kernel.
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

struct Problem {
  uint32_t m, n, k;
  std::vector<uint16_t> a, b; ///< padded, because an access past the end must not reach the next buffer
  std::vector<float> c;
  Problem(uint32_t m, uint32_t n, uint32_t k) : m(m), n(n), k(k), a((m + 64) * k), b((n + 64) * k), c((m + 64) * n) {
    std::mt19937 random(7);
    for (auto *matrix : {&a, &b})
      for (uint16_t &x : *matrix) // bf16 in [-1, 1)
        x = uint16_t(std::bit_cast<uint32_t>(float(int32_t(random())) * 0x1p-31f) >> 16);
  }
  static double value(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

std::optional<Report> multiply(const std::string &text, Problem &problem, uint64_t seed, std::string &error) {
  std::unique_ptr<Module> module = Module::read(text, "gemm-bf16.ptx", error);
  if (!module)
    return std::nullopt;
  Memory memory;
  memory.add(problem.a.data(), problem.m * problem.k * 2, "A");
  memory.add(problem.b.data(), problem.n * problem.k * 2, "B");
  memory.add(problem.c.data(), problem.m * problem.n * 4, "C", false);
  Launch launch;
  launch.kernel = "gemm_bf16";
  launch.grid = {problem.n / 64, (problem.m + 63) / 64, 1};
  launch.block = {128, 1, 1};
  launch.seed = seed;
  launch.stepLimit = 1 << 14;
  return run(*module, memory, launch,
             {argument(problem.a.data()), argument(problem.b.data()), argument(problem.c.data()), argument(problem.m),
              argument(problem.n), argument(problem.k)},
             error);
}

/// Returns true if the error of every element is at most 2^-22 times the sum of the magnitudes of its terms. This
/// tolerance is for rounding in f32.
bool isProduct(const Problem &problem) {
  for (uint32_t i = 0; i < problem.m; ++i)
    for (uint32_t j = 0; j < problem.n; ++j) {
      double sum = 0, size = 0;
      for (uint32_t l = 0; l < problem.k; ++l) {
        double product = Problem::value(problem.a[i * problem.k + l]) * Problem::value(problem.b[j * problem.k + l]);
        sum += product;
        size += std::fabs(product);
      }
      if (!(std::fabs(problem.c[i * problem.n + j] - sum) <= size * 0x1p-22))
        return false;
    }
  return true;
}

TEST(Gemm, EqualsADoubleLoopWithoutErrors) {
  std::string text = readInput("gemm-bf16.ptx"), error;
  for (uint64_t seed : {0, 1, 2, 3}) {
    Problem problem(100, 128, 160);
    std::optional<Report> report = multiply(text, problem, seed, error);
    ASSERT_TRUE(report) << error;
    EXPECT_TRUE(report->findings.empty()) << report->text();
    EXPECT_TRUE(report->finished);
    for (const AccessCost &cost : report->costs)
      EXPECT_EQ(cost.extraWavefronts, 0u) << cost.instruction << " in line " << cost.line;
    EXPECT_TRUE(isProduct(problem)) << "with seed " << seed;
  }
}

struct Defect {
  const char *name;
  std::string from, to;
  uint32_t which;          ///< index among the occurrences of `from`
  std::vector<Kind> kinds; ///< one of these must be found; if empty, there must be no finding
};

const std::vector<Defect> &defects() {
  static const std::vector<Defect> list = {
      {"NoBarrier", "\tbar.sync 0;\n", "", 0, {Kind::Race}},
      {"NoWait", "\tcp.async.wait_group 1;\n", "", 0, {Kind::AsyncNotWaited, Kind::UninitialisedMemory}},
      {"WaitsForOneTooFew", "wait_group 1;", "wait_group 2;", 0, {Kind::AsyncNotWaited}},
      {"WaitBehindTheBarrier",
       "\tcp.async.wait_group 1;\n\tbar.sync 0;\n",
       "\tbar.sync 0;\n\tcp.async.wait_group 1;\n",
       0,
       {Kind::Race}},
      {"NoCommitInTheLoop",
       "\tcp.async.commit_group;\n",
       "",
       2,
       {Kind::AsyncNotWaited, Kind::UninitialisedMemory, Kind::Race}},
      {"NoCommitAhead",
       "\tcp.async.commit_group;\n",
       "",
       0,
       {Kind::AsyncNotWaited, Kind::UninitialisedMemory, Kind::Race}},
      {"StageNeverWraps", "setp.eq.s32 %p5, %r38, 24576", "setp.eq.s32 %p5, %r38, 16384", 0, {Kind::OutOfBounds}},
      {"TwoStagesOnly",
       "setp.eq.s32 %p5, %r38, 24576;\n\tselp.b32 %r38, 0",
       "setp.eq.s32 %p5, %r38, 24576;\n\tselp.b32 %r38, 8192",
       0,
       {Kind::Race, Kind::AsyncNotWaited, Kind::UninitialisedMemory}},
      {"OneStageTooMany", "setp.eq.s32 %p5, %r38, 24576", "setp.eq.s32 %p5, %r38, 32768", 0, {Kind::OutOfBounds}},
      {"ReadsTheNextStage", "mov.b32 %r37, 0;", "mov.b32 %r37, 8192;", 0, {Kind::AsyncNotWaited, Kind::Race}},
      {"RowsNotGuarded", "setp.lt.u32 %p7, %r48, %r1;", "setp.le.u32 %p7, %r48, %r1;", 0, {Kind::OutOfBounds}},
      {"StoresNotGuarded", "setp.lt.u32 %p7, %r48, %r1;", "setp.ne.u32 %p7, %r48, 9999;", 3, {Kind::OutOfBounds}},
      {"NoZeroFill",
       "selp.b32 %r14, 16, 0, %p1;",
       "mov.b32 %r14, 16;",
       0,
       {}}, // equivalent: the kernel reads row 0 for rows whose results are not stored
      {"RowNotClamped", "selp.b32 %r13, %r13, 0, %p2;", "mov.b32 %r15, 16;", 0, {Kind::OutOfBounds}},
      {"OneTileTooMany",
       "setp.lt.u32 %p6, %r36, %r22;",
       "setp.le.u32 %p6, %r36, %r22;",
       0,
       {}}, // the accesses are ordered and in bounds: only the numbers are wrong
      {"LoadsOneTileTooMany", "setp.ge.u32 %p4, %r39, %r22;", "setp.gt.u32 %p4, %r39, %r22;", 0, {Kind::OutOfBounds}},
      {"ElementsOf4Bytes",
       "mad.wide.u32 %rd7, %r20, 2, %rd2;",
       "mad.wide.u32 %rd7, %r20, 4, %rd2;",
       0,
       {Kind::OutOfBounds}},
      {"RowOfWrongPitch",
       "shl.b32 %r32, %r32, 6;",
       "shl.b32 %r32, %r32, 7;",
       0,
       {Kind::OutOfBounds, Kind::AsyncNotWaited, Kind::UninitialisedMemory}},
      {"TargetMisaligned", "shl.b32 %r9, %r9, 4;", "shl.b32 %r9, %r9, 3;", 0, {Kind::Misaligned}},
      {"SourceMisaligned", "shl.b32 %r18, %r8, 3;", "shl.b32 %r18, %r8, 2;", 0, {Kind::Misaligned}},
      {"StoreMisaligned", "shl.b32 %r47, %r47, 1;", "", 0, {Kind::Misaligned}},
      {"SharedTooSmall", "tiles[24576]", "tiles[20480]", 0, {Kind::OutOfBounds}},
      {"AccumulatorNotZeroed", "\tmov.b32 %c5, 0f00000000;\n", "", 0, {Kind::UninitialisedRegister}},
      {"BarrierInOneWarpOnly",
       "\tbar.sync 0;\n",
       "\tsetp.eq.s32 %p5, %r25, 0;\n\t@%p5 bar.sync 0;\n",
       0,
       {Kind::ExitAtBarrier, Kind::Deadlock, Kind::Race}},
      {"BarrierForTwoWarps", "bar.sync 0;", "bar.sync 0, 64;", 0, {Kind::Race}},
      {"BarrierForFiveWarps",
       "bar.sync 0;",
       "bar.sync 0, 160;",
       0,
       {Kind::Deadlock, Kind::Race, Kind::BarrierMismatch}},
      {"BarrierByHalfOfTheLanes",
       "\tbar.sync 0;\n",
       "\tsetp.lt.u32 %p5, %r24, 16;\n\t@%p5 bar.sync 0;\n",
       0,
       {Kind::BarrierDivergence}},
      {"BlocksOverlap", "shl.b32 %r5, %r5, 6;", "shl.b32 %r5, %r5, 5;", 0, {Kind::Race}},
      {"WarpsOverlap", "shl.b32 %r34, %r27, 5;", "shl.b32 %r34, %r27, 4;", 0, {Kind::Race}},
      {"LoopNeverEnds", "add.s32 %r36, %r36, 1;", "add.s32 %r36, %r36, 0;", 0, {Kind::StepLimit, Kind::OutOfBounds}},
  };
  return list;
}

class Planted : public testing::TestWithParam<size_t> {};

TEST_P(Planted, IsDetected) {
  const Defect &defect = defects()[GetParam()];
  std::string text = readInput("gemm-bf16.ptx"), error;
  size_t at = text.find(defect.from);
  for (uint32_t i = 0; i < defect.which && at != std::string::npos; ++i)
    at = text.find(defect.from, at + 1);
  ASSERT_NE(at, std::string::npos) << defect.from;
  text.replace(at, defect.from.size(), defect.to);
  Problem problem(100, 128, 160);
  std::optional<Report> report = multiply(text, problem, 1, error);
  ASSERT_TRUE(report) << error;
  if (defect.kinds.empty()) {
    EXPECT_TRUE(report->findings.empty()) << report->text();
    EXPECT_EQ(isProduct(problem), std::string(defect.name) != "OneTileTooMany");
    return;
  }
  bool found = false;
  for (const Finding &finding : report->findings)
    for (Kind kind : defect.kinds)
      found |= finding.kind == kind;
  EXPECT_TRUE(found) << report->text();
}

INSTANTIATE_TEST_SUITE_P(Gemm, Planted, testing::Range(size_t(0), defects().size()),
                         [](const testing::TestParamInfo<size_t> &info) { return defects()[info.param].name; });

TEST(Gemm, ARaceReportNamesBothAccessesAndTheUsersLine) {
  std::string text = readInput("gemm-bf16.ptx"), error;
  text.erase(text.find("\tbar.sync 0;\n"), 13);
  Problem problem(64, 64, 160);
  std::optional<Report> report = multiply(text, problem, 0, error);
  ASSERT_TRUE(report) << error;
  auto race = std::find_if(report->findings.begin(), report->findings.end(),
                           [](const Finding &finding) { return finding.kind == Kind::Race; });
  ASSERT_NE(race, report->findings.end()) << report->text();
  const Finding &finding = *race;
  EXPECT_EQ(finding.kernel, "gemm_bf16");
  ASSERT_TRUE(finding.other);
  std::string sides = finding.here.instruction + finding.other->instruction;
  EXPECT_NE(sides.find("ldmatrix"), std::string::npos) << sides;
  EXPECT_NE(sides.find("cp.async"), std::string::npos) << sides;
  EXPECT_NE((finding.here.location + finding.other->location).find("op=multiply at=model.py:12"), std::string::npos)
      << report->text();
}

} // namespace
