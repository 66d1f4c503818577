//===- MachineTiming.cpp - what CPUID does not tell -----------------------===//
//
// Whether vdpbf16ps is as fast as an FMA: yes on Zen 4 and 5, a quarter on Intel servers with AMX. Two loops of twelve
// independent instructions on registers; the best of many short, alternating rounds, so that interrupts, frequency
// steps and a busy neighbour touch some rounds and not the result.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Host/Futex.h"
#include "lib/Runtime/Host/Machine.h"

#include <algorithm>

namespace tilewright::runtime {

static const struct Factors {
  alignas(64) float a[16] = {0.83f, 1.21f, 0.57f, 1.49f, 0.91f, 1.13f, 0.71f, 1.37f,
                             0.67f, 1.03f, 0.53f, 1.19f, 0.97f, 1.29f, 0.79f, 1.43f};
  alignas(64) float b[16] = {1.7e-3f, -2.3e-3f, 3.1e-3f, -1.1e-3f, 2.9e-3f, -1.9e-3f, 1.3e-3f, -2.7e-3f,
                             3.7e-3f, -1.5e-3f, 2.1e-3f, -3.3e-3f, 1.9e-3f, -2.5e-3f, 3.5e-3f, -1.7e-3f};
} factors;

#define TW_THREE(INSTRUCTION, R, A, B, C)                                                                              \
  INSTRUCTION " %%" R "12, %%" R "13, %%" R A "\n" INSTRUCTION " %%" R "12, %%" R "13, %%" R B "\n" INSTRUCTION        \
              " %%" R "12, %%" R "13, %%" R C "\n"
#define TW_TWELVE(INSTRUCTION, R)                                                                                      \
  TW_THREE(INSTRUCTION, R, "0", "1", "2")                                                                              \
  TW_THREE(INSTRUCTION, R, "3", "4", "5")                                                                              \
  TW_THREE(INSTRUCTION, R, "6", "7", "8") TW_THREE(INSTRUCTION, R, "9", "10", "11")

/// Sums begin at zero; factors are ordinary numbers, because a multiplier of zeros draws less power and clocks higher.
#define TW_LOOP(INSTRUCTION, R, COUNT)                                                                                 \
  __asm__ volatile("vzeroall\n"                                                                                        \
                   "vmovups %1, %%" R "12\nvmovups %2, %%" R "13\n"                                                    \
                   "1:\n" TW_TWELVE(INSTRUCTION, R) "dec %0\n"                                                         \
                                                    "jnz 1b\n"                                                         \
                                                    "vzeroupper\n"                                                     \
                   : "+r"(COUNT)                                                                                       \
                   : "m"(factors.a), "m"(factors.b)                                                                    \
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",    \
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

__attribute__((target("avx512f,avx512bf16"), noinline)) static int64_t timeFma(int64_t count) {
  int64_t start = monotonicNanoseconds();
  TW_LOOP("vfmadd231ps", "zmm", count);
  return monotonicNanoseconds() - start;
}

__attribute__((target("avx512f,avx512bf16"), noinline)) static int64_t timeBf16Dot(int64_t count) {
  int64_t start = monotonicNanoseconds();
  TW_LOOP("vdpbf16ps", "zmm", count);
  return monotonicNanoseconds() - start;
}

__attribute__((target("avx2,fma"), noinline)) static int64_t timeFma256(int64_t count) {
  int64_t start = monotonicNanoseconds();
  TW_LOOP("vfmadd231ps", "ymm", count);
  return monotonicNanoseconds() - start;
}

#undef TW_LOOP
#undef TW_TWELVE
#undef TW_THREE

double fmaPeak() {
  InstructionSets sets = hostInstructionSets();
  if (!sets.avx512f && !sets.fma)
    return 0;
  constexpr int64_t count = 20000;
  int64_t best = INT64_MAX;
  for (int round = 0; round < 100; ++round)
    best = std::min(best, sets.avx512f ? timeFma(count) : timeFma256(count));
  int64_t lanes = sets.avx512f ? 16 : 8;
  return double(count * 12 * lanes * 2) / double(std::max<int64_t>(best, 1));
}

double bf16DotRate() {
  static const double rate = [] {
    InstructionSets sets = hostInstructionSets();
    if (!sets.avx512f || !sets.avx512bf16)
      return 0.0;
    constexpr int rounds = 24;
    constexpr int64_t count = 1000; // about 3 us
    int64_t fma = INT64_MAX, dot = INT64_MAX;
    for (int i = 0; i < rounds; ++i) {
      fma = std::min(fma, timeFma(count));
      dot = std::min(dot, timeBf16Dot(count));
    }
    return double(fma) / double(std::max<int64_t>(dot, 1));
  }();
  return rate;
}

} // namespace tilewright::runtime
