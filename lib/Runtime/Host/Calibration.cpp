//===- Calibration.cpp - the constants of this machine's cost model --------------===//
//
// Peaks and bandwidths come from MachinePeaks.h. The cost of a task is measured by a plan whose kernels have many empty
// tasks. The cost of a kernel is measured by a plan whose kernels keep each thread busy for a known time.
//
// Test: test/Unit/Runtime/Host/CalibrationTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Host/Calibration.h"
#include "lib/Runtime/Host/Executor.h"
#include "lib/Runtime/Host/MachinePeaks.h"

#include <cpuid.h>
#include <cstring>
#include <unistd.h>

namespace tilewright::runtime {
namespace {

constexpr int64_t busyNanoseconds = 2000;

/// The task functions of the measured kernels: an empty task, and a task that keeps its thread busy.
void doNothing(void *const *, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t task = begin; task < end; ++task)
    __asm__ volatile("" ::: "memory");
}

void keepBusy(void *const *, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t task = begin; task < end; ++task)
    for (int64_t start = monotonicNanoseconds(); monotonicNanoseconds() - start < busyNanoseconds;)
      __asm__ volatile("" ::: "memory");
}

/// Returns the time in nanoseconds of a kernel with `tasks` tasks, measured in a plan of such kernels, each of which
/// waits for the previous kernel. Returns 0 if the plan cannot run.
double timeOfKernel(tilewright_kernel_fn function, int64_t tasks, int threads) {
  constexpr int64_t bytes = 64, kernels = 64;
  plan::Plan plan;
  plan.kernels = {"kernel"};
  plan.numOutputs = 1;
  plan::Buffer buffer;
  buffer.kind = plan::Buffer::Kind::Output;
  buffer.bytes = plan::Expr::constant(bytes);
  plan.buffers.push_back(buffer);
  for (int64_t i = 0; i < kernels; ++i) {
    plan::Step step;
    step.operands.resize(1);
    step.writes = 1;
    step.grid = plan::Expr::constant(tasks);
    plan.steps.push_back(step);
  }
  RunError error;
  auto executable = Executable::create(std::move(plan), {{function, ""}}, {}, error.text);
  alignas(64) char memory[bytes];
  void *outputs[] = {memory};
  int64_t best = INT64_MAX;
  for (int round = 0; executable && round < 40; ++round) {
    int64_t start = monotonicNanoseconds();
    if (!executable->run(nullptr, outputs, nullptr, threads, error))
      return 0;
    best = std::min(best, monotonicNanoseconds() - start);
  }
  return executable ? double(best) / kernels : 0;
}

MachineRates rounded(MachineRates rates) {
  for (const RateName &row : rateNames)
    rates.*row.value = roundRate(rates.*row.value);
  return rates;
}
} // namespace

MachineRates defaultRates(const MachineDescription &machine) {
  const InstructionSets &sets = machine.sets;
  const bool wide = sets.avx512f && sets.avx512bw && sets.avx512vl && sets.avx512dq;
  MachineRates rates;
  // Servers with AMX run at about 2.5 GHz; CPUs with full-rate dot products at over 4 GHz.
  rates.f32 = !wide ? 100 : machine.bf16DotFullRate ? 285 : 157;
  rates.bf16 = sets.amxBf16 ? 2200 : machine.bf16DotFullRate ? 2 * rates.f32 : rates.f32;
  rates.f16 = sets.amxFp16 ? rates.bf16 : sets.amxBf16 ? rates.bf16 / 3 : rates.f32;
  rates.int8 = sets.amxInt8 ? 4400 : sets.avx512vnni || sets.avxvnni ? 4 * rates.f32 : rates.f32;
  return rounded(rates);
}

MachineRates measureRates() {
  MachineDescription machine;
  std::string error;
  if (!describeMachine(nullptr, machine, error))
    return MachineRates();
  MachineRates rates = defaultRates(machine);
  const int threads = std::max(1, machine.logicalCpus);
  // Use the best of three rounds, because other load on the machine can halve all rates of a round.
  MachinePeaks peaks;
  for (int round = 0; round < 3; ++round) {
    MachinePeaks more = measurePeaks(threads);
    for (auto value : {&MachinePeaks::f32, &MachinePeaks::bf16, &MachinePeaks::int8, &MachinePeaks::l2,
                       &MachinePeaks::l3, &MachinePeaks::dram})
      peaks.*value = std::max(peaks.*value, more.*value);
  }
  auto take = [&](double &rate, double ofAllThreads) {
    if (ofAllThreads > 0)
      rate = ofAllThreads / 1e9 / threads;
  };
  const double f16 = rates.f16 / rates.bf16;
  take(rates.f32, peaks.f32);
  take(rates.bf16, peaks.bf16);
  take(rates.int8, peaks.int8);
  take(rates.l2, peaks.l2);
  take(rates.l3, peaks.l3);
  take(rates.dram, peaks.dram);
  rates.f16 = machine.sets.amxBf16 ? f16 * rates.bf16 : rates.f32;
  constexpr int64_t tasks = 1024;
  double busy = timeOfKernel(keepBusy, threads, threads), few = timeOfKernel(doNothing, threads, threads),
         many = timeOfKernel(doNothing, tasks * threads, threads);
  rates.kernel = std::max(0.0, busy - busyNanoseconds);
  rates.task = std::max(0.0, many - few) / tasks;
  return rounded(rates);
}

std::string rateIdentity() {
  MachineDescription machine;
  std::string error;
  if (!describeMachine(nullptr, machine, error))
    return "";
  unsigned words[12] = {};
  for (unsigned leaf = 0; leaf < 3; ++leaf)
    __get_cpuid(0x80000002 + leaf, &words[4 * leaf], &words[4 * leaf + 1], &words[4 * leaf + 2], &words[4 * leaf + 3]);
  char brand[sizeof words + 1] = {};
  memcpy(brand, words, sizeof words);
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  // Count all CPUs, not only those on which the process may run, so that a process with a restricted affinity reads the
  // same calibration file.
  return std::string(brand) + "|" + std::to_string(a) + "|" + std::to_string(sysconf(_SC_NPROCESSORS_CONF)) + "|" +
         std::to_string(machine.l1dBytes) + "|" + std::to_string(machine.l2Bytes) + "|" +
         std::to_string(machine.l3Bytes) + "|" + std::to_string(machine.l3Cpus) + "|" + machine.features;
}

} // namespace tilewright::runtime
