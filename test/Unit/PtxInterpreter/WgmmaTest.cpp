//===- WgmmaTest.cpp - types, layouts and operands of wgmma ----------------------------------===//
//
// The elements are small integers, exact in every type, in the canonical layouts of the ISA. The reference D is
// computed by a loop.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

/// A type and its encodings of -2 to 2.
struct Element {
  const char *name;
  uint32_t bytes;
  uint32_t bits[5];
};
constexpr Element kBf16 = {"bf16", 2, {0xc000, 0xbf80, 0, 0x3f80, 0x4000}};
constexpr Element kF16 = {"f16", 2, {0xc000, 0xbc00, 0, 0x3c00, 0x4000}};
constexpr Element kTf32 = {"tf32", 4, {0xc0000000, 0xbf800000, 0, 0x3f800000, 0x40000000}};
constexpr Element kE4m3 = {"e4m3", 1, {0xc0, 0xb8, 0, 0x38, 0x40}};
constexpr Element kE5m2 = {"e5m2", 1, {0xc0, 0xbc, 0, 0x3c, 0x40}};
constexpr Element kS8 = {"s8", 1, {0xfe, 0xff, 0, 1, 2}};

struct Case {
  const char *name;
  Element element;
  uint32_t swizzle;
  bool transposed; ///< A and B are transposed
  bool registers;  ///< A is in registers
  int scaleB = 1;
};

int valueA(uint32_t row, uint32_t k) { return int((row * 7 + k * 3 + row * k) % 5) - 2; }
int valueB(uint32_t column, uint32_t k) { return int((column * 5 + k * 2 + column * k) % 5) - 2; }

/// Returns the byte offset of an element. If `test.transposed` is false, k is contiguous, and groups of 8 rows have a
/// stride of 256 bytes (512 or 1024 bytes with wider swizzles). Without a swizzle, the two halves of k have a stride of
/// 128 bytes. If `test.transposed` is true, the rows are contiguous.
uint32_t offsetOf(const Case &test, uint32_t row, uint32_t k) {
  uint32_t byte = k * test.element.bytes, span = test.swizzle, at;
  if (!test.transposed)
    at = span ? row / 8 * 8 * span + row % 8 * span + byte : row / 8 * 256 + row % 8 * 16 + byte / 16 * 128 + byte % 16;
  else if (span) // 64 rows of the matrix are 128 bytes, or 128 / span blocks with a stride of 4096 bytes
    at = row * 2 / span * 4096 + row * 2 % span + k % 8 * span + k / 8 * 8 * span;
  else
    at = row / 8 * 256 + row % 8 * 2 + k % 8 * 16 + k / 8 * 128;
  if (span)
    at ^= (at / 128 % (span / 16)) * 16;
  return at;
}
std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

constexpr uint32_t kB = 16384; ///< offset of B

std::string textOf(const Case &test, bool fence, bool proxy, bool wait) {
  uint32_t span = test.swizzle;
  uint64_t leading = test.transposed && span ? 4096 : 128, stride = span ? 8 * span : 256;
  uint64_t mode = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
  uint64_t descriptor = leading / 16 << 16 | stride / 16 << 32 | mode << 62;
  std::string type = test.element.name, text = "mov.u32 %r1, %tid.x;\nmov.b32 %r2, s;\n";
  // Copies 32 KB of `in` to shared memory, 256 bytes per thread.
  text += "mul.wide.u32 %rd1, %r1, 256;\nadd.s64 %rd1, %rd1, %rd31;\nshl.b32 %r3, %r1, 8;\nadd.s32 %r3, %r3, %r2;\n";
  for (int i = 0; i < 16; ++i)
    text += "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1+" + std::to_string(16 * i) + "];\nst.shared.v4.b32 [%r3+" +
            std::to_string(16 * i) + "], {%r4, %r5, %r6, %r7};\n";
  text += proxy ? "fence.proxy.async;\n" : "";
  text += "bar.sync 0;\nshr.u32 %r8, %r2, 4;\ncvt.u64.u32 %rd2, %r8;\nmov.b64 %rd3, " + hex(descriptor) +
          ";\nor.b64 %rd2, %rd2, %rd3;\nadd.s64 %rd3, %rd2, " + std::to_string(kB / 16) + ";\n";
  if (test.registers) { // words t and t + 4 of rows g and g + 8 of the warp's 16; k is contiguous, unswizzled
    text += "and.b32 %r10, %r1, 31;\nshr.u32 %r11, %r1, 5;\nshl.b32 %r11, %r11, 9;\nshr.u32 %r12, %r10, 2;\nshl.b32 "
            "%r12, %r12, 4;\nadd.s32 %r11, %r11, %r12;\nand.b32 %r12, %r10, 3;\nshl.b32 %r12, %r12, 2;\nadd.s32 %r11, "
            "%r11, %r12;\nadd.s32 %r11, %r11, %r2;\nld.shared.b32 %r13, [%r11];\nld.shared.b32 %r14, "
            "[%r11+256];\nld.shared.b32 %r15, [%r11+128];\nld.shared.b32 %r16, [%r11+384];\n";
  }
  bool integers = type == "s8";
  // All elements of D are initially 3.
  for (int i = 20; i < 24; ++i)
    text += "mov.b32 %r" + std::to_string(i) + ", " + (integers ? "3" : "0x40400000") + ";\n";
  if (!integers)
    for (int i = 0; i < 4; ++i)
      text += "mov.b32 %f" + std::to_string(i) + ", %r" + std::to_string(20 + i) + ";\n";
  uint32_t k = 32 / test.element.bytes;
  text += fence ? "wgmma.fence.sync.aligned;\n" : "";
  text += "setp.eq.u32 %p1, %r1, %r1;\nwgmma.mma_async.sync.aligned.m64n8k" + std::to_string(k) + "." +
          (integers ? "s32" : "f32") + "." + type + "." + type + " " +
          (integers ? "{%r20, %r21, %r22, %r23}" : "{%f0, %f1, %f2, %f3}") + ", " +
          (test.registers ? "{%r13, %r14, %r15, %r16}" : "%rd2") + ", %rd3, %p1";
  if (!integers)
    text += ", 1, " + std::to_string(test.scaleB);
  if (test.element.bytes == 2)
    text += std::string(test.registers ? "" : test.transposed ? ", 1" : ", 0") + (test.transposed ? ", 1" : ", 0");
  text += ";\nwgmma.commit_group.sync.aligned;\n";
  text += wait ? "wgmma.wait_group.sync.aligned 0;\n" : "";
  text += "mul.wide.u32 %rd1, %r1, 16;\nadd.s64 %rd1, %rd1, %rd30;\nst.global.v4." +
          std::string(integers ? "b32 [%rd1], {%r20, %r21, %r22, %r23}" : "f32 [%rd1], {%f0, %f1, %f2, %f3}") + ";\n";
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in) {\n.reg "
         ".pred %p<8>;\n.reg .b32 %r<64>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<32>;\n.shared .align 1024 .b8 "
         "s[32768];\nld.param.b64 %rd30, [out];\nld.param.b64 %rd31, [in];\n" +
         text + "ret;\n}\n";
}
std::vector<uint32_t> inputOf(const Case &test) {
  std::vector<uint32_t> in(8192);
  auto put = [&](uint32_t at, uint32_t bits) {
    std::memcpy(reinterpret_cast<uint8_t *>(in.data()) + at, &bits, test.element.bytes);
  };
  for (uint32_t k = 0; k < 32 / test.element.bytes; ++k) {
    for (uint32_t row = 0; row < 64; ++row)
      put(offsetOf(test, row, k), test.element.bits[valueA(row, k) + 2]);
    for (uint32_t column = 0; column < 8; ++column)
      put(kB + offsetOf(test, column, k), test.element.bits[valueB(column, k) + 2]);
  }
  return in;
}

class Wgmma : public testing::TestWithParam<Case> {};

TEST_P(Wgmma, EqualsALoop) {
  const Case &test = GetParam();
  Outcome outcome = runText(textOf(test, true, true, true), threads(128), 512, inputOf(test));
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t thread = 0; thread < 128; ++thread)
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t row = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8, column = thread % 4 * 2 + i % 2;
      int sum = 0;
      for (uint32_t k = 0; k < 32 / test.element.bytes; ++k)
        sum += valueA(row, k) * valueB(column, k);
      sum = 3 + test.scaleB * sum;
      uint32_t bits = outcome.out[4 * thread + i];
      ASSERT_EQ(test.element.name == std::string("s8") ? int(bits) : int(std::bit_cast<float>(bits)), sum)
          << "row " << row << ", column " << column;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Wgmma,
    testing::Values(Case{"Bf16", kBf16, 0, false, false}, Case{"Bf16Swizzle32", kBf16, 32, false, false},
                    Case{"Bf16Swizzle64", kBf16, 64, false, false}, Case{"Bf16Swizzle128", kBf16, 128, false, false},
                    Case{"Bf16Transposed", kBf16, 0, true, false}, Case{"Bf16Transposed128", kBf16, 128, true, false},
                    Case{"F16", kF16, 128, false, false}, Case{"F16Transposed32", kF16, 32, true, false},
                    Case{"Tf32", kTf32, 128, false, false}, Case{"E4m3", kE4m3, 64, false, false},
                    Case{"E5m2", kE5m2, 0, false, false}, Case{"S8", kS8, 32, false, false},
                    Case{"RegistersBf16", kBf16, 0, false, true}, Case{"RegistersTf32", kTf32, 0, false, true},
                    Case{"RegistersS8", kS8, 0, false, true}, Case{"MinusB", kBf16, 0, false, false, -1}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

TEST(WgmmaChecks, FencesAndWaits) {
  Case plain = {"", kBf16, 128, false, false}, registers = {"", kBf16, 0, false, true};
  auto count = [&](const Case &test, bool fence, bool proxy, bool wait, Kind kind, uint32_t size = 128) {
    return runText(textOf(test, fence, proxy, wait), threads(size), 512, inputOf(test)).count(kind);
  };
  EXPECT_EQ(count(plain, false, true, true, Kind::MissingMatrixFence), 1u);
  EXPECT_GE(count(plain, true, false, true, Kind::MissingProxyFence), 1u);
  EXPECT_GE(count(plain, true, true, false, Kind::RegisterInFlight), 1u);
  EXPECT_GE(count(plain, true, true, true, Kind::BarrierDivergence, 96), 1u);
  // A register of A may be read before the wait, but not written, because the product may still read it.
  std::string text = textOf(registers, true, true, true), wait = "wgmma.wait_group.sync.aligned 0;\n";
  std::string written = text, read = text;
  written.insert(text.find(wait), "add.s32 %r13, %r13, 1;\n");
  read.insert(text.find(wait), "add.s32 %r40, %r13, 1;\n");
  EXPECT_EQ(runText(written, threads(128), 512, inputOf(registers)).count(Kind::RegisterInFlight), 1u);
  EXPECT_EQ(runText(read, threads(128), 512, inputOf(registers)).report.findings.size(), 0u);
  // Write to shared memory before the wait.
  std::string store = textOf(plain, true, true, true);
  store.insert(store.find(wait), "st.shared.b32 [s+16384], %r1;\n");
  EXPECT_GE(runText(store, threads(128), 512, inputOf(plain)).count(Kind::AsyncNotWaited), 1u);
  // Use a start address inside of the swizzle pattern.
  std::string moved = textOf(plain, true, true, true);
  moved.insert(moved.find("setp.eq"), "add.s64 %rd2, %rd2, 8;\n");
  EXPECT_GE(runText(moved, threads(128), 512, inputOf(plain)).count(Kind::BadOperand), 1u);
}

} // namespace
