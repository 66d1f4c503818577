//===- ParserTest.cpp - errors name their location ------------------------===//
#include "Kernels.h"

#include <random>

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

std::string refusalOf(const std::string &body, const std::string &before = "") {
  return runBody(body, threads(32), 64, {}, before).error;
}

TEST(Parser, RefusalsNameTheLocation) {
  EXPECT_EQ(refusalOf("frobnicate.b32 %r1, %r2;"), "test.ptx:12:1: unknown instruction 'frobnicate.b32'");
  EXPECT_EQ(refusalOf("add.s32 %r1, %r2;"), "test.ptx:12:1: add.s32: too few operands");
  EXPECT_EQ(refusalOf("add.s32 %r1, %r2, %r3, %r4;"), "test.ptx:12:1: add.s32: too many operands");
  EXPECT_EQ(refusalOf("add.s32 %r1, %r2, %rd3;"), "test.ptx:12:1: add.s32: the register %rd3 has 64 bits, expected 32");
  EXPECT_EQ(refusalOf("bra $nowhere;"), "test.ptx:12:13: there is no label '$nowhere'");
  EXPECT_EQ(refusalOf("add.s32 %r1, %r2, ?;"), "test.ptx:12:19: unexpected character '?'");
  EXPECT_EQ(refusalOf("mov.u32 %r1, %nothing;"), "test.ptx:12:1: unknown register or function '%nothing'");
  EXPECT_EQ(refusalOf("tcgen05.relinquish_alloc_permit;"),
            "test.ptx:12:1: unknown instruction 'tcgen05.relinquish_alloc_permit'");
}

TEST(Parser, ClustersAreRefused) {
  auto kernel = [](const std::string &directive) {
    return runText(
               ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in) " +
                   directive + " {\n  ret;\n}\n",
               threads(32))
        .error;
  };
  EXPECT_NE(kernel(".reqnctapercluster 2, 1, 1").find("is not a multiple of its clusters of 2x1x1"), std::string::npos);
  EXPECT_NE(kernel(".blocksareclusters").find("grids that count clusters cannot be run yet"), std::string::npos);
  EXPECT_EQ(kernel(".reqnctapercluster 1, 1, 1"), "");
  EXPECT_EQ(kernel(".maxclusterrank 8"), "");
}

TEST(Parser, InvalidLaunchesAreRefused) {
  Launch launch = threads(2048);
  EXPECT_NE(runBody("", launch).error.find("a block of 2048x1x1 threads"), std::string::npos);
  launch = threads(32);
  launch.dynamicShared = 1 << 20;
  EXPECT_NE(runBody("", launch).error.find("of shared memory"), std::string::npos);
}

TEST(Parser, LocationsComeFromLocAndComments) {
  Outcome outcome =
      runBody(".loc 1 12 3\n//@tw op=add\nadd.s32 %r1, %r2, 1;\n", threads(1), 8, {}, ".file 1 \"model.py\"\n");
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].here.location, "model.py:12:3 op=add");
  EXPECT_EQ(outcome.report.findings[0].here.line, 15u);
  // LLVM emits .file at the end. Column 0 means no column, and line 0 no location.
  auto locationOf = [](const std::string &loc) {
    return runText(kernel(loc + "add.s32 %r1, %r2, 1;\n") +
                       "\t.section\t.debug_macinfo\t{\t}\n\t.file\t1 \"late.py\"\n",
                   threads(1))
        .report.findings.at(0)
        .here.location;
  };
  EXPECT_EQ(locationOf(".loc\t1 12 0\n"), "late.py:12");
  EXPECT_EQ(locationOf(".loc 1 12 0\n.loc 2 7 1\n"), "file2:7:1");
  EXPECT_EQ(locationOf(".loc 1 12 0\n.loc 1 0 0\n"), "");
}

// Text with changed, removed or repeated bytes is run or rejected. The sanitizers detect invalid accesses.
TEST(Parser, DamagedTextNeverCrashes) {
  std::string whole = readInput("gemm-bf16.ptx");
  std::mt19937 random(3);
  for (int round = 0; round < 150; ++round) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change) {
      size_t at = random() % text.size(), length = random() % 12;
      switch (random() % 3) {
      case 0:
        text[at] = char(random() % 96 + 32);
        break;
      case 1:
        text.erase(at, length);
        break;
      default:
        text.insert(random() % text.size(), text.substr(at, length));
      }
    }
    std::string error;
    std::unique_ptr<Module> module = Module::read(text, "damaged.ptx", error);
    if (!module) {
      EXPECT_EQ(error.compare(0, 12, "damaged.ptx:"), 0) << error;
      continue;
    }
    std::vector<uint8_t> buffer(1 << 16);
    Memory memory;
    memory.add(buffer.data(), buffer.size(), "buffer");
    Launch launch = threads(128);
    launch.kernel = "gemm_bf16";
    launch.stepLimit = 2000;
    uint32_t size = 64;
    run(*module, memory, launch,
        {argument(buffer.data()), argument(buffer.data()), argument(buffer.data()), argument(size), argument(size),
         argument(size)},
        error);
  }
}

} // namespace
