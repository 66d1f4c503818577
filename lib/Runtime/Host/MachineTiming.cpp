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

#define TW_TWELVE(INSTRUCTION)                                                                                         \
  INSTRUCTION " %%zmm12, %%zmm13, %%zmm0\n" INSTRUCTION " %%zmm12, %%zmm13, %%zmm1\n" INSTRUCTION                      \
              " %%zmm12, %%zmm13, %%zmm2\n" INSTRUCTION " %%zmm12, %%zmm13, %%zmm3\n" INSTRUCTION                      \
              " %%zmm12, %%zmm13, %%zmm4\n" INSTRUCTION " %%zmm12, %%zmm13, %%zmm5\n" INSTRUCTION                      \
              " %%zmm12, %%zmm13, %%zmm6\n" INSTRUCTION " %%zmm12, %%zmm13, %%zmm7\n" INSTRUCTION                      \
              " %%zmm12, %%zmm13, %%zmm8\n" INSTRUCTION " %%zmm12, %%zmm13, %%zmm9\n" INSTRUCTION                      \
              " %%zmm12, %%zmm13, %%zmm10\n" INSTRUCTION " %%zmm12, %%zmm13, %%zmm11\n"

/// Every register holds zero (vzeroall clears 0 to 15): no denormal slows a round down.
#define TW_LOOP(INSTRUCTION, COUNT)                                                                                    \
  __asm__ volatile("vzeroall\n"                                                                                        \
                   "1:\n" TW_TWELVE(INSTRUCTION) "dec %0\n"                                                            \
                                                 "jnz 1b\n"                                                            \
                                                 "vzeroupper\n"                                                        \
                   : "+r"(COUNT)                                                                                       \
                   :                                                                                                   \
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",    \
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

__attribute__((target("avx512f,avx512bf16"), noinline)) static int64_t timeFma(int64_t count) {
  int64_t start = monotonicNanoseconds();
  TW_LOOP("vfmadd231ps", count);
  return monotonicNanoseconds() - start;
}

__attribute__((target("avx512f,avx512bf16"), noinline)) static int64_t timeBf16Dot(int64_t count) {
  int64_t start = monotonicNanoseconds();
  TW_LOOP("vdpbf16ps", count);
  return monotonicNanoseconds() - start;
}

#undef TW_LOOP
#undef TW_TWELVE

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
