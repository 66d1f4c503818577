//===- MachineTiming.cpp - machine properties that CPUID does not report ---===//
//
// This file measures the rate of FMAs on one thread, and the ratio of the rate of the instruction vdpbf16ps to the rate
// of an FMA. For the ratio, two loops on registers (RegisterLoops.h) run in short, alternating rounds. The results are
// computed from the best times, because interrupts, frequency changes and other load slow down some of the rounds.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Host/Machine.h"
#include "lib/Runtime/Host/RegisterLoops.h"

#include <algorithm>

namespace tilewright::runtime {

double fmaPeak() {
  InstructionSets sets = hostInstructionSets();
  if (!sets.avx512f && !sets.fma)
    return 0;
  const RegisterLoop &loop = sets.avx512f ? fma512 : fma256;
  constexpr int64_t count = 20000;
  int64_t best = INT64_MAX;
  for (int round = 0; round < 100; ++round)
    best = std::min(best, loop.time(count));
  return double(count * loop.operations) / double(std::max<int64_t>(best, 1));
}

double bf16DotRate() {
  static const double rate = [] {
    InstructionSets sets = hostInstructionSets();
    if (!sets.avx512f || !sets.avx512bf16)
      return 0.0;
    constexpr int rounds = 24;
    constexpr int64_t count = 1000; // a few microseconds
    int64_t fma = INT64_MAX, dot = INT64_MAX;
    for (int i = 0; i < rounds; ++i) {
      fma = std::min(fma, fma512.time(count));
      dot = std::min(dot, bf16Dot512.time(count));
    }
    return double(fma) / double(std::max<int64_t>(dot, 1));
  }();
  return rate;
}

} // namespace tilewright::runtime
