//===- InstructionTest.cpp - single instructions --------------------------===//
// The results were computed manually. The sources are in %r1.., %h1.., %rd1.. or %p1..; the result is the first
// register in the text. All cases run in a warp of 32 lanes and in a warp of 5 lanes, which test the full-warp path and
// the masked path.
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include <cstdio>

using namespace tilewright::ptx;
using namespace tilewright::ptx::test;

namespace {

struct Case {
  const char *text; ///< for example "add.s32 %r0, %r1, %r2"
  std::vector<uint64_t> sources;
  uint64_t expected;
};

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// Runs the cases in one kernel. Each case writes 8 bytes.
void check(const std::vector<Case> &cases) {
  std::string body;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string text = cases[i].text;
    for (size_t s = 0; s < cases[i].sources.size(); ++s) {
      std::string number = std::to_string(s + 1), value = hex(cases[i].sources[s]);
      auto uses = [&](const std::string &name) {
        return text.find(name + number) != std::string::npos && text.find(name + number) > 0;
      };
      if (uses("%rd"))
        body += "mov.b64 %rd" + number + ", " + value + ";\n";
      else if (uses("%r"))
        body += "mov.b32 %r" + number + ", " + value + ";\n";
      else if (uses("%h"))
        body += "mov.b16 %h" + number + ", " + value + ";\n";
      else
        body += "setp.ne.s32 %p" + number + ", " + value + ", 0;\n";
    }
    body += text + ";\n";
    std::string address = "[%rd30+" + std::to_string(8 * i) + "]";
    size_t space = text.find(' ');
    std::string result = text.substr(space + 1, text.find_first_of(",|", space) - space - 1);
    if (result[1] == 'p')
      body += "selp.b32 %r0, 1, 0, " + result + ";\ncvt.u64.u32 %rd0, %r0;\n";
    else if (result[1] == 'h')
      body += "cvt.u64.u16 %rd0, " + result + ";\n";
    else if (result[2] != 'd')
      body += "cvt.u64.u32 %rd0, " + result + ";\n";
    body += "st.global.b64 " + address + ", %rd0;\n";
  }
  for (uint32_t lanes : {32u, 5u}) {
    // All lanes compute the same value. Only the last lane stores it, to avoid a race.
    std::string guarded = body;
    for (size_t at = 0; (at = guarded.find("st.global", at)) != std::string::npos; at += 20)
      guarded.insert(at, "@%p7 ");
    Outcome outcome =
        runBody("mov.u32 %r63, %tid.x;\nsetp.eq.s32 %p7, %r63, " + std::to_string(lanes - 1) + ";\n" + guarded,
                threads(lanes), 2 * cases.size());
    ASSERT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.report.findings.size(), 0u) << outcome.report.text();
    for (size_t i = 0; i < cases.size(); ++i) {
      uint64_t got = outcome.out[2 * i] | uint64_t(outcome.out[2 * i + 1]) << 32;
      EXPECT_EQ(hex(got), hex(cases[i].expected)) << cases[i].text << " with " << lanes << " lanes";
    }
  }
}

TEST(Instruction, Integers) {
  check({
      {"add.s32 %r0, %r1, %r2", {0x7fffffff, 1}, 0x80000000},
      {"add.sat.s32 %r0, %r1, %r2", {0x7fffffff, 1}, 0x7fffffff},
      {"sub.sat.s32 %r0, %r1, %r2", {0x80000000, 1}, 0x80000000},
      {"sub.s16 %h0, %h1, %h2", {3, 5}, 0xfffe},
      {"mul.lo.s32 %r0, %r1, %r2", {0x10001, 0x10001}, 0x20001},
      {"mul.hi.u32 %r0, %r1, %r2", {0xffffffff, 0xffffffff}, 0xfffffffe},
      {"mul.hi.s32 %r0, %r1, %r2", {0xffffffff, 2}, 0xffffffff},
      {"mul.hi.s64 %rd0, %rd1, %rd2", {0xffffffffffffffff, 5}, 0xffffffffffffffff},
      {"mul.hi.u64 %rd0, %rd1, %rd2", {0xffffffffffffffff, 5}, 4},
      {"mul.wide.s32 %rd0, %r1, %r2", {0xffffffff, 7}, 0xfffffffffffffff9},
      {"mul.wide.u16 %r0, %h1, %h2", {0xffff, 0xffff}, 0xfffe0001},
      {"mad.wide.s32 %rd0, %r1, %r2, %rd3", {0xffffffff, 7, 8}, 1},
      {"mad.lo.s32 %r0, %r1, %r2, %r3", {6, 7, 0xfffffffe}, 40},
      {"div.s32 %r0, %r1, %r2", {0xfffffff9, 2}, 0xfffffffd},
      {"rem.s32 %r0, %r1, %r2", {0xfffffff9, 2}, 0xffffffff},
      {"div.s32 %r0, %r1, %r2", {0x80000000, 0xffffffff}, 0x80000000},
      {"div.u64 %rd0, %rd1, %rd2", {0xffffffffffffffff, 10}, 0x1999999999999999},
      {"abs.s32 %r0, %r1", {0x80000001}, 0x7fffffff},
      {"neg.s16 %h0, %h1", {5}, 0xfffb},
      {"min.s32 %r0, %r1, %r2", {0xffffffff, 1}, 0xffffffff},
      {"max.u32 %r0, %r1, %r2", {0xffffffff, 1}, 0xffffffff},
      {"sad.s32 %r0, %r1, %r2, %r3", {3, 0xfffffffb, 10}, 18},
      {"dp4a.s32.s32 %r0, %r1, %r2, %r3", {0x01ff0203, 0x02030405, 100}, 0x7a},
      {"dp2a.lo.s32.u32 %r0, %r1, %r2, %r3", {0x0002ffff, 0x00000a05, 1}, 16},
      {"mul24.lo.s32 %r0, %r1, %r2", {0xffffff, 3}, 0xfffffffd},
  });
}

TEST(Instruction, Bits) {
  check({
      {"lop3.b32 %r0, %r1, %r2, %r3, 0x96", {0xff00ff00, 0xf0f0f0f0, 0xcccccccc}, 0xff00ff00 ^ 0xf0f0f0f0 ^ 0xcccccccc},
      {"lop3.b32 %r0, %r1, %r2, %r3, 0xe8", {0xff00ff00, 0xf0f0f0f0, 0xcccccccc}, 0xfcc0fcc0},
      {"shl.b32 %r0, %r1, %r2", {1, 32}, 0},
      {"shr.s32 %r0, %r1, %r2", {0x80000000, 40}, 0xffffffff},
      {"shr.u32 %r0, %r1, %r2", {0x80000000, 31}, 1},
      {"shr.s16 %h0, %h1, %r2", {0x8000, 3}, 0xf000},
      {"shf.l.wrap.b32 %r0, %r1, %r2, %r3", {0x12345678, 0x9abcdef0, 8}, 0xbcdef012},
      {"shf.r.clamp.b32 %r0, %r1, %r2, %r3", {0x12345678, 0x9abcdef0, 36}, 0x9abcdef0},
      {"shf.r.wrap.b32 %r0, %r1, %r2, %r3", {0x12345678, 0x9abcdef0, 36}, 0x01234567},
      {"prmt.b32 %r0, %r1, %r2, 0x5410", {0x33221100, 0x77665544}, 0x55441100},
      {"prmt.b32 %r0, %r1, %r2, 0x9991", {0x00008000, 0}, 0xffffff80},
      {"prmt.b32.b4e %r0, %r1, %r2, 1", {0x33221100, 0x77665544}, 0x66770011},
      {"bfe.u32 %r0, %r1, 4, 8", {0x12345678}, 0x67},
      {"bfe.s32 %r0, %r1, 8, 4", {0x00000f00}, 0xffffffff},
      {"bfe.s32 %r0, %r1, 28, 8", {0x80000000}, 0xfffffff8},
      {"bfi.b32 %r0, %r1, %r2, 8, 12", {0xabcd, 0xffffffff}, 0xfffbcdff},
      {"popc.b64 %r0, %rd1", {0xf0f0f0f0f0f0f0f0}, 32},
      {"clz.b32 %r0, %r1", {0}, 32},
      {"brev.b32 %r0, %r1", {0x00000001}, 0x80000000},
      {"bfind.u32 %r0, %r1", {0x00010000}, 16},
      {"bfind.s32 %r0, %r1", {0xffffffff}, 0xffffffff},
      {"bfind.shiftamt.u32 %r0, %r1", {0x00010000}, 15},
      {"bmsk.clamp.b32 %r0, %r1, %r2", {4, 8}, 0xff0},
      {"cnot.b32 %r0, %r1", {0}, 1},
      {"not.b16 %h0, %h1", {0xff}, 0xff00},
      {"xor.pred %p0, %p1, %p2", {1, 1}, 0},
      {"not.pred %p0, %p1", {0}, 1},
      {"mov.pred %p0, %p1", {1}, 1},
      {"mov.pred %p0, %p1", {0}, 0},
  });
}

// 1 + 2^-24 is the midpoint of 1 and the next float, 0x3f800001.
TEST(Instruction, RoundingOfSingle) {
  check({
      {"add.rn.f32 %r0, %r1, %r2", {0x3f800000, 0x33800000}, 0x3f800000},
      {"add.rz.f32 %r0, %r1, %r2", {0x3f800000, 0x33800000}, 0x3f800000},
      {"add.rm.f32 %r0, %r1, %r2", {0x3f800000, 0x33800000}, 0x3f800000},
      {"add.rp.f32 %r0, %r1, %r2", {0x3f800000, 0x33800000}, 0x3f800001},
      {"add.rm.f32 %r0, %r1, %r2", {0xbf800000, 0xb3800000}, 0xbf800001},
      // A double cannot represent 2^100 + 2^-100 exactly.
      {"add.rp.f32 %r0, %r1, %r2", {0x71800000, 0x0d800000}, 0x71800001},
      {"sub.rz.f32 %r0, %r1, %r2", {0x71800000, 0x0d800000}, 0x717fffff},
      {"mul.rn.f32 %r0, %r1, %r2", {0x3f800001, 0x3f800001}, 0x3f800002},
      {"mul.rp.f32 %r0, %r1, %r2", {0x3f800001, 0x3f800001}, 0x3f800003},
      // (1 + 2^-23)^2 - (1 + 2^-22) = 2^-46.
      {"fma.rn.f32 %r0, %r1, %r2, %r3", {0x3f800001, 0x3f800001, 0xbf800002}, 0x28800000},
      {"fma.rn.ftz.f32 %r0, %r1, %r2, %r3", {0x00800000, 0x3f000000, 0x00000000}, 0},
      {"fma.rn.f32 %r0, %r1, %r2, %r3", {0x00800000, 0x3f000000, 0x00000000}, 0x00400000},
      {"mul.ftz.f32 %r0, %r1, %r2", {0x80400000, 0x40000000}, 0x80000000},
      {"add.sat.f32 %r0, %r1, %r2", {0x3f800000, 0x3f800000}, 0x3f800000},
      {"add.sat.f32 %r0, %r1, %r2", {0x7fc00000, 0x3f800000}, 0},
      {"add.f32 %r0, %r1, %r2", {0x7f800000, 0xff800000}, 0x7fffffff},
      {"div.rn.f32 %r0, %r1, %r2", {0x3f800000, 0x40400000}, 0x3eaaaaab},
      {"div.rz.f32 %r0, %r1, %r2", {0x3f800000, 0x40400000}, 0x3eaaaaaa},
      {"div.rp.f32 %r0, %r1, %r2", {0xbf800000, 0x40400000}, 0xbeaaaaaa},
      {"rcp.rn.f32 %r0, %r1", {0x40400000}, 0x3eaaaaab},
      {"sqrt.rn.f32 %r0, %r1", {0x40000000}, 0x3fb504f3},
      {"sqrt.rp.f32 %r0, %r1", {0x40000000}, 0x3fb504f4},
      {"min.f32 %r0, %r1, %r2", {0x7fc00000, 0x3f800000}, 0x3f800000},
      {"min.NaN.f32 %r0, %r1, %r2", {0x7fc00000, 0x3f800000}, 0x7fffffff},
      {"max.f32 %r0, %r1, %r2", {0x80000000, 0x00000000}, 0x00000000},
      {"min.f32 %r0, %r1, %r2", {0x00000000, 0x80000000}, 0x80000000},
      {"neg.f32 %r0, %r1", {0x3f800000}, 0xbf800000},
      {"abs.ftz.f32 %r0, %r1", {0x80400000}, 0},
      {"copysign.f32 %r0, %r1, %r2", {0x80000000, 0x3f800000}, 0xbf800000},
      {"ex2.approx.f32 %r0, %r1", {0x40400000}, 0x41000000},
      {"lg2.approx.f32 %r0, %r1", {0x41000000}, 0x40400000},
      {"rsqrt.approx.ftz.f32 %r0, %r1", {0x40800000}, 0x3f000000},
  });
}

TEST(Instruction, RoundingOfDouble) {
  const uint64_t one = 0x3ff0000000000000, tiny = 0x3ca0000000000000; // 2^-53
  const uint64_t largest = 0x7fefffffffffffff;
  check({
      {"add.rn.f64 %rd0, %rd1, %rd2", {one, tiny}, one},
      {"add.rp.f64 %rd0, %rd1, %rd2", {one, tiny}, one + 1},
      {"sub.rz.f64 %rd0, %rd1, %rd2", {one, 0x0010000000000000}, one - 1},
      {"mul.rp.f64 %rd0, %rd1, %rd2", {one + 1, one + 1}, one + 3},
      {"fma.rm.f64 %rd0, %rd1, %rd2, %rd3", {one + 1, one + 1, 0}, one + 2},
      {"fma.rp.f64 %rd0, %rd1, %rd2, %rd3", {one, one, 1}, one + 1},
      {"div.rn.f64 %rd0, %rd1, %rd2", {one, 0x4008000000000000}, 0x3fd5555555555555},
      {"div.rp.f64 %rd0, %rd1, %rd2", {one, 0x4008000000000000}, 0x3fd5555555555556},
      {"sqrt.rn.f64 %rd0, %rd1", {0x4000000000000000}, 0x3ff6a09e667f3bcd},
      {"sqrt.rz.f64 %rd0, %rd1", {0x4000000000000000}, 0x3ff6a09e667f3bcc},
      // Overflow: the largest finite number, if the exact result is rounded towards zero.
      {"add.rz.f64 %rd0, %rd1, %rd2", {largest, largest}, largest},
      {"mul.rm.f64 %rd0, %rd1, %rd2", {largest, 0x4000000000000000}, largest},
      {"mul.rp.f64 %rd0, %rd1, %rd2", {largest, 0x4000000000000000}, 0x7ff0000000000000},
      {"fma.rp.f64 %rd0, %rd1, %rd2, %rd3", {largest, 0xc000000000000000, 0}, 0x8000000000000000 | largest},
      {"div.rz.f64 %rd0, %rd1, %rd2", {largest, 1}, largest},
      // Underflow: the exact product is between 0 and the smallest subnormal number.
      {"mul.rp.f64 %rd0, %rd1, %rd2", {1, 1}, 1},
      {"mul.rm.f64 %rd0, %rd1, %rd2", {1, 1}, 0},
      {"sub.rm.f64 %rd0, %rd1, %rd2", {one, one}, 0x8000000000000000},
  });
}

TEST(Instruction, Halves) {
  check({
      {"add.rn.f16 %h0, %h1, %h2", {0x3c00, 0x1000}, 0x3c00}, // 1 + 2^-11: tie to even
      {"add.f16 %h0, %h1, %h2", {0x3c01, 0x1000}, 0x3c02},
      {"mul.f16 %h0, %h1, %h2", {0x7bff, 0x4000}, 0x7c00},
      {"fma.rn.f16 %h0, %h1, %h2, %h3", {0x3c01, 0x3c01, 0xbc02}, 0x0010}, // 2^-20
      {"fma.rn.relu.f16 %h0, %h1, %h2, %h3", {0x3c00, 0x3c00, 0xc000}, 0},
      {"fma.rn.bf16x2 %r0, %r1, %r2, %r3", {0x3f803f80, 0x40004040, 0x3f80bf80}, 0x40404000},
      {"add.rn.bf16 %h0, %h1, %h2", {0x3f80, 0x3b80}, 0x3f80}, // 1 + 2^-8: tie to even
      {"add.rn.bf16 %h0, %h1, %h2", {0x3f81, 0x3b80}, 0x3f82},
      {"max.NaN.bf16 %h0, %h1, %h2", {0x7fc1, 0x3f80}, 0x7fff},
      {"neg.f16x2 %r0, %r1", {0x3c00bc00}, 0xbc003c00},
      {"abs.bf16 %h0, %h1", {0xbf80}, 0x3f80},
      {"min.f16x2 %r0, %r1, %r2", {0x3c004000, 0x40003c00}, 0x3c003c00},
  });
}

TEST(Instruction, Conversions) {
  check({
      {"cvt.rn.f32.s32 %r0, %r1", {0x01000001}, 0x4b800000},
      {"cvt.rp.f32.s32 %r0, %r1", {0x01000001}, 0x4b800001},
      {"cvt.rn.f32.u64 %r0, %rd1", {0xffffff8000000001}, 0x5f800000},
      {"cvt.rz.f64.u64 %rd0, %rd1", {0xffffffffffffffff}, 0x43efffffffffffff},
      {"cvt.rzi.s32.f32 %r0, %r1", {0xbfc00000}, 0xffffffff},
      {"cvt.rni.s32.f32 %r0, %r1", {0x40200000}, 2},
      {"cvt.rpi.s32.f32 %r0, %r1", {0x40200000}, 3},
      {"cvt.rzi.s32.f32 %r0, %r1", {0x7fc00000}, 0},
      {"cvt.rzi.s64.f32 %rd0, %r1", {0x7fc00000}, 0x8000000000000000},
      {"cvt.rzi.u32.f32 %r0, %r1", {0xbf800000}, 0},
      {"cvt.rzi.s32.f32 %r0, %r1", {0x4f800000}, 0x7fffffff},
      {"cvt.rzi.u8.f32 %r0, %r1", {0x43c80000}, 255},
      {"cvt.s32.s8 %r0, %r1", {0x1280}, 0xffffff80},
      {"cvt.u32.u8 %r0, %r1", {0x1280}, 0x80},
      {"cvt.s64.s32 %rd0, %r1", {0x80000000}, 0xffffffff80000000},
      {"cvt.sat.s8.s32 %r0, %r1", {1000}, 127},
      {"cvt.sat.u8.s32 %r0, %r1", {0xffffffff}, 0},
      {"cvt.u16.u64 %h0, %rd1", {0x123456789}, 0x6789},
      {"cvt.s64.s8 %rd0, %rd1", {0xff}, 0xffffffffffffffff},
      {"cvt.rn.f16.f32 %h0, %r1", {0x477ff000}, 0x7c00}, // 65520: halfway, to infinity
      {"cvt.rz.f16.f32 %h0, %r1", {0x477ff000}, 0x7bff},
      {"cvt.rn.f16.f32 %h0, %r1", {0x33000000}, 0x0000}, // 2^-25: tie to even
      {"cvt.rn.f16.f32 %h0, %r1", {0x33000001}, 0x0001},
      {"cvt.f32.f16 %r0, %h1", {0x0001}, 0x33800000},
      {"cvt.f32.bf16 %r0, %h1", {0x4049}, 0x40490000},
      {"cvt.rn.bf16.f32 %h0, %r1", {0x3f808000}, 0x3f80},
      {"cvt.rn.bf16.f32 %h0, %r1", {0x3f818000}, 0x3f82},
      {"cvt.rn.bf16x2.f32 %r0, %r1, %r2", {0x3f800000, 0x40000000}, 0x3f804000},
      {"cvt.rn.relu.f16x2.f32 %r0, %r1, %r2", {0xbf800000, 0x40000000}, 0x00004000},
      {"cvt.rna.tf32.f32 %r0, %r1", {0x3f801000}, 0x3f802000},
      {"cvt.rn.tf32.f32 %r0, %r1", {0x3f801000}, 0x3f800000},
      {"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2", {0x44800000, 0x3f800000}, 0x7e38}, // 1024 -> 448, 1
      {"cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2", {0x3f800000, 0xc0000000}, 0x3cc0},
      {"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2", {0x3a800000, 0x3b000000}, 0x0001}, // 2^-10: tie to 0; 2^-9
      {"cvt.rn.f16x2.e4m3x2 %r0, %h1", {0x7e38}, 0x5f003c00},
      {"cvt.rn.f16x2.e5m2x2 %r0, %h1", {0x3cc0}, 0x3c00c000},
      {"cvt.f64.f32 %rd0, %r1", {0x3f800000}, 0x3ff0000000000000},
      {"cvt.rn.f32.f64 %r0, %rd1", {0x3ff0000010000000}, 0x3f800000},
      {"cvt.rni.f32.f32 %r0, %r1", {0x40200000}, 0x40000000},
      {"cvt.sat.f32.f32 %r0, %r1", {0x40200000}, 0x3f800000},
      {"cvt.rzi.f64.f64 %rd0, %rd1", {0xbff8000000000000}, 0xbff0000000000000},
  });
}

TEST(Instruction, ComparesAndSelects) {
  check({
      {"setp.lt.s32 %p0, %r1, %r2", {0xffffffff, 0}, 1},
      {"setp.lt.u32 %p0, %r1, %r2", {0xffffffff, 0}, 0},
      {"setp.lo.u32 %p0, %r1, %r2", {1, 2}, 1},
      {"setp.lt.f32 %p0, %r1, %r2", {0x7fc00000, 0}, 0},
      {"setp.ltu.f32 %p0, %r1, %r2", {0x7fc00000, 0}, 1},
      {"setp.neu.f32 %p0, %r1, %r2", {0x3f800000, 0x3f800000}, 0},
      {"setp.nan.f64 %p0, %rd1, %rd2", {0x7ff8000000000000, 0}, 1},
      {"setp.eq.ftz.f32 %p0, %r1, %r2", {0x00400000, 0x80000000}, 1},
      {"setp.ge.and.s32 %p0, %r1, %r2, %p3", {5, 5, 0}, 0},
      {"setp.ge.or.s32 %p0, %r1, %r2, !%p3", {4, 5, 0}, 1},
      {"setp.gt.s32 %p0|%p4, %r1, %r2", {6, 5}, 1},
      {"set.lt.u32.s32 %r0, %r1, %r2", {1, 2}, 0xffffffff},
      {"set.lt.f32.f32 %r0, %r1, %r2", {0, 0x3f800000}, 0x3f800000},
      {"selp.b64 %rd0, %rd1, %rd2, %p3", {1, 2, 0}, 2},
      {"slct.b32.s32 %r0, %r1, %r2, %r3", {1, 2, 0xffffffff}, 2},
      {"testp.notanumber.f32 %p0, %r1", {0x7fc00000}, 1},
  });
}

TEST(Instruction, VectorsPackAndUnpack) {
  Outcome outcome = runBody(
      "mov.b32 %r1, 0x22221111;\nmov.b32 {%h1, %h2}, %r1;\nmov.b32 %r2, {%h2, %h1};\nmov.b64 %rd1, {%r1, %r2};\n"
      "mov.b64 {%r3, _}, %rd1;\nst.global.b64 [%rd30], %rd1;\nst.global.b32 [%rd30+8], %r3;\n",
      threads(1));
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  EXPECT_EQ(outcome.out[0], 0x22221111u);
  EXPECT_EQ(outcome.out[1], 0x11112222u);
  EXPECT_EQ(outcome.out[2], 0x22221111u);
}

} // namespace
