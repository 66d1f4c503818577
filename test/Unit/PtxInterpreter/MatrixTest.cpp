//===- MatrixTest.cpp - mma.sync of every type, ldmatrix and stmatrix, cp.async alone -----------===//
//
// The elements are small integers, so every product and sum is exact. The test maps elements to lanes by row and
// column, as the tables of the ISA do, and uses no code of the interpreter for this.
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include <bit>
#include <random>

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

struct Type {
  const char *name;
  uint32_t bits;
  bool isSigned;
  uint32_t codes[4]; ///< encodings of 0, 1, 2, 3
};
const Type kTypes[] = {{"f16", 16, true, {0, 0x3c00, 0x4000, 0x4200}},
                       {"bf16", 16, true, {0, 0x3f80, 0x4000, 0x4040}},
                       {"tf32", 32, true, {0, 0x3f800000, 0x40000000, 0x40400000}},
                       {"e4m3", 8, true, {0, 0x38, 0x40, 0x44}},
                       {"e5m2", 8, true, {0, 0x3c, 0x40, 0x42}},
                       {"s8", 8, true, {0, 1, 2, 3}},
                       {"u8", 8, false, {0, 1, 2, 3}},
                       {"s4", 4, true, {0, 1, 2, 3}},
                       {"u4", 4, false, {0, 1, 2, 3}}};
const Type &type(const std::string &name) {
  for (const Type &type : kTypes)
    if (name == type.name)
      return type;
  abort();
}
uint32_t code(const Type &type, int value) {
  uint32_t bits = type.codes[std::abs(value)];
  if (value >= 0)
    return bits;
  if (type.name[0] == 's') // two's complement
    return (0u - bits) & ((1u << type.bits) - 1);
  return bits | 1u << (type.bits - 1);
}

struct Shape {
  const char *a, *b, *c; ///< element types of A, B and C
  uint32_t k;
};

void PrintTo(const Shape &shape, std::ostream *stream) {
  *stream << shape.a << " " << shape.b << " " << shape.c << " k" << shape.k;
}

class Mma : public testing::TestWithParam<Shape> {};

TEST_P(Mma, EqualsALoop) {
  const Shape &shape = GetParam();
  const Type &ta = type(shape.a), &tb = type(shape.b);
  std::string tc = shape.c;
  uint32_t perWord = 32 / ta.bits, K = shape.k, wordsA = 16 * K / perWord / 32, wordsB = wordsA / 2,
           wordsC = tc == "f16" ? 2 : 4;
  std::mt19937 random(K);
  auto draw = [&](const Type &type) { return type.isSigned ? int(random() % 7) - 3 : int(random() % 4); };
  std::vector<std::vector<int>> a(16, std::vector<int>(K)), b(K, std::vector<int>(8)), c(16, std::vector<int>(8));
  for (auto &row : a)
    for (int &x : row)
      x = draw(ta);
  for (auto &row : b)
    for (int &x : row)
      x = draw(tb);
  for (auto &row : c)
    for (int &x : row)
      x = int(random() % 7) - 3;
  auto accumulator = [&](int value) {
    return tc == "s32" ? uint32_t(value) : tc == "f32" ? std::bit_cast<uint32_t>(float(value)) : code(kTypes[0], value);
  };
  // Each lane has 16 words, with elements of A, B and C.
  std::vector<uint32_t> in(32 * 16);
  uint32_t quad = 4 * perWord; // columns of A in one register of each of the four lanes of a group
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t column = 0; column < K; ++column) {
      uint32_t lane = row % 8 * 4 + column % quad / perWord, word = row / 8 + 2 * (column / quad);
      in[lane * 16 + word] |= code(ta, a[row][column]) << (column % perWord * ta.bits);
    }
  for (uint32_t row = 0; row < K; ++row)
    for (uint32_t column = 0; column < 8; ++column) {
      uint32_t lane = column * 4 + row % quad / perWord, word = wordsA + row / quad;
      in[lane * 16 + word] |= code(tb, b[row][column]) << (row % perWord * tb.bits);
    }
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t column = 0; column < 8; ++column) {
      uint32_t lane = row % 8 * 4 + column / 2;
      if (wordsC == 4)
        in[lane * 16 + wordsA + wordsB + row / 8 * 2 + column % 2] = accumulator(c[row][column]);
      else
        in[lane * 16 + wordsA + wordsB + row / 8] |= accumulator(c[row][column]) << (16 * (column % 2));
    }
  std::string body = "mov.u32 %r63, %tid.x;\nmul.wide.u32 %rd1, %r63, 64;\nadd.s64 %rd1, %rd1, %rd31;\nmul.wide.u32 "
                     "%rd2, %r63, 16;\nadd.s64 %rd2, %rd2, %rd30;\n";
  std::string lists[4];
  for (uint32_t word = 0; word < wordsA + wordsB + wordsC; ++word) {
    std::string name = "%r" + std::to_string(word);
    body += "ld.global.b32 " + name + ", [%rd1+" + std::to_string(4 * word) + "];\n";
    std::string &list = lists[word < wordsA ? 0 : word < wordsA + wordsB ? 1 : 2];
    list += (list.empty() ? "" : ", ") + name;
  }
  for (uint32_t word = 0; word < wordsC; ++word)
    lists[3] += (word ? ", %r" : "%r") + std::to_string(40 + word);
  body += "mma.sync.aligned.m16n8k" + std::to_string(K) + ".row.col." + tc + "." + shape.a + "." + shape.b + "." + tc +
          " {" + lists[3] + "}, {" + lists[0] + "}, {" + lists[1] + "}, {" + lists[2] + "};\n";
  for (uint32_t word = 0; word < wordsC; ++word)
    body += "st.global.b32 [%rd2+" + std::to_string(4 * word) + "], %r" + std::to_string(40 + word) + ";\n";
  Outcome outcome = runBody(body, threads(32), 128, in);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t column = 0; column < 8; ++column) {
      int sum = c[row][column];
      for (uint32_t l = 0; l < K; ++l)
        sum += a[row][l] * b[l][column];
      uint32_t lane = row % 8 * 4 + column / 2, word = lane * 4 + (wordsC == 4 ? row / 8 * 2 + column % 2 : row / 8);
      uint32_t got = outcome.out[word];
      if (tc == "f16") {
        uint32_t bits = got >> (16 * (column % 2)) & 0xffff;
        float value = std::ldexp(float(1024 + (bits & 1023)), int(bits >> 10 & 31) - 25) * (bits >> 15 ? -1.0f : 1.0f);
        EXPECT_EQ(bits & 0x7fff ? value : 0.0f, float(sum));
      } else if (tc == "f32")
        EXPECT_EQ(std::bit_cast<float>(got), float(sum));
      else
        EXPECT_EQ(int32_t(got), sum);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Types, Mma,
    testing::Values(Shape{"f16", "f16", "f32", 8}, Shape{"f16", "f16", "f32", 16}, Shape{"f16", "f16", "f16", 8},
                    Shape{"f16", "f16", "f16", 16}, Shape{"bf16", "bf16", "f32", 8}, Shape{"bf16", "bf16", "f32", 16},
                    Shape{"tf32", "tf32", "f32", 4}, Shape{"tf32", "tf32", "f32", 8}, Shape{"e4m3", "e5m2", "f32", 32},
                    Shape{"e5m2", "e4m3", "f32", 32}, Shape{"e4m3", "e4m3", "f16", 32}, Shape{"s8", "s8", "s32", 16},
                    Shape{"s8", "u8", "s32", 32}, Shape{"u8", "s8", "s32", 32}, Shape{"u8", "u8", "s32", 32},
                    Shape{"s4", "s4", "s32", 32}, Shape{"s4", "u4", "s32", 64}, Shape{"u4", "u4", "s32", 64}));

TEST(Matrix, DoubleMma) {
  // A[i][k] = i + 8 k, B[k][j] = k - j, C = 1.
  std::string body = "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 2;\nand.b32 %r3, %r1, 3;\nshl.b32 %r4, %r3, 3;\nadd.s32 "
                     "%r4, %r4, %r2;\nsub.s32 %r5, %r3, %r2;\ncvt.rn.f64.s32 %rd1, %r4;\ncvt.rn.f64.s32 %rd2, %r5;\n"
                     "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd3, %rd4}, {%rd1}, {%rd2}, "
                     "{0d3ff0000000000000, 0d3ff0000000000000};\n"
                     "cvt.rzi.s32.f64 %r6, %rd3;\ncvt.rzi.s32.f64 %r7, %rd4;\nmul.wide.u32 %rd5, %r1, 8;\nadd.s64 "
                     "%rd5, %rd5, %rd30;\nst.global.v2.b32 [%rd5], {%r6, %r7};\n";
  Outcome outcome = runBody(body, threads(32));
  ASSERT_EQ(outcome.error, "");
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      int sum = 1;
      for (int k = 0; k < 4; ++k)
        sum += (i + 8 * k) * (k - j);
      EXPECT_EQ(int32_t(outcome.out[size_t((i * 4 + j / 2) * 2 + j % 2)]), sum);
    }
}

const std::string kTile = ".shared .align 16 .b8 s[1024];\n";

// Element (r, c) of the tile of 32 x 8 is 8 r + c. Each word contains two elements.
TEST(Matrix, LdmatrixAndStmatrix) {
  for (bool transposed : {false, true}) {
    std::string trans = transposed ? ".trans" : "";
    std::string body =
        "mov.u32 %r1, %tid.x;\nmov.b32 %r2, s;\nshl.b32 %r3, %r1, 4;\nadd.s32 %r2, %r2, %r3;\nshl.b32 %r4, %r1, 3;\n";
    for (int i = 0; i < 4; ++i) // each lane writes the row with its number
      body += "add.s32 %r5, %r4, " + std::to_string(2 * i) +
              ";\nadd.s32 %r6, %r5, 1;\nshl.b32 %r6, %r6, 16;\nor.b32 %r5, %r5, %r6;\nst.shared.b32 [%r2+" +
              std::to_string(4 * i) + "], %r5;\n";
    body += "bar.warp.sync -1;\nldmatrix.sync.aligned.m8n8.x4" + trans +
            ".shared.b16 {%r10, %r11, %r12, %r13}, [%r2];\nmul.wide.u32 %rd1, %r1, 32;\nadd.s64 %rd1, %rd1, "
            "%rd30;\nst.global.b32 [%rd1], %r10;\nst.global.b32 [%rd1+4], %r11;\nst.global.b32 [%rd1+8], "
            "%r12;\nst.global.b32 [%rd1+12], %r13;\n";
    // stmatrix stores the registers after the tile; the rows are then read.
    body += "stmatrix.sync.aligned.m8n8.x4" + trans +
            ".shared.b16 [%r2+512], {%r10, %r11, %r12, %r13};\nbar.warp.sync -1;\nld.shared.v4.b32 {%r14, %r15, %r16, "
            "%r17}, [%r2+512];\nst.global.b32 [%rd1+16], %r14;\nst.global.b32 [%rd1+28], %r17;\n";
    Outcome outcome = runBody(body, threads(32), 256, {}, kTile);
    ASSERT_EQ(outcome.error, "");
    EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t matrix = 0; matrix < 4; ++matrix)
        for (uint32_t half = 0; half < 2; ++half) {
          uint32_t row = lane / 4, column = lane % 4 * 2 + half;
          uint32_t expected = 64 * matrix + (transposed ? 8 * column + row : 8 * row + column);
          EXPECT_EQ(outcome.out[8 * lane + matrix] >> (16 * half) & 0xffff, expected);
        }
      EXPECT_EQ(outcome.out[8 * lane + 4], 8 * lane | (8 * lane + 1) << 16);
      EXPECT_EQ(outcome.out[8 * lane + 7], (8 * lane + 6) | (8 * lane + 7) << 16);
    }
  }
}

TEST(Copy, ArrivesAtTheWaitAndFillsWithZeroes) {
  std::string copy = "cp.async.ca.shared.global [s], [%rd31], 8, 4;\ncp.async.commit_group;\n",
              wait = "cp.async.wait_group 0;\n",
              read = "ld.shared.v2.b32 {%r1, %r2}, [s];\nst.global.v2.b32 [%rd30], {%r1, %r2};\n";
  Outcome right = runBody(copy + wait + read, threads(1), 8, {11, 22}, kTile);
  ASSERT_EQ(right.error, "");
  EXPECT_TRUE(right.report.findings.empty()) << right.report.text();
  EXPECT_EQ(right.out[0], 11u);
  EXPECT_EQ(right.out[1], 0u);
  Outcome early = runBody(copy + read + wait, threads(1), 8, {11, 22}, kTile);
  EXPECT_EQ(early.count(Kind::AsyncNotWaited), 1u) << early.report.text();
  Outcome source =
      runBody(copy + "mov.b32 %r5, 0;\nst.global.b32 [%rd31], %r5;\n" + wait + read, threads(1), 8, {11, 22}, kTile);
  EXPECT_EQ(source.count(Kind::AsyncNotWaited), 1u) << source.report.text();
  // A thread's wait does not cover the copies of other threads.
  Outcome other = runBody(copy + "bar.warp.sync -1;\n" + wait + read, threads(2), 8, {11, 22}, kTile);
  EXPECT_GE(other.count(Kind::AsyncNotWaited), 1u) << other.report.text();
}

} // namespace
