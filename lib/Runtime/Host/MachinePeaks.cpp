//===- MachinePeaks.cpp - peak rates of a machine -------------------------===//
//
// measurePeaks() times loops on registers (RegisterLoops.h) and loops that only read memory. All threads run the same
// loop at the same time. The result is the best of several rounds, because interrupts and other load only lower the
// rate.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Host/MachinePeaks.h"
#include "lib/Runtime/Host/Futex.h"
#include "lib/Runtime/Host/Machine.h"
#include "lib/Runtime/Host/Memory.h"
#include "lib/Runtime/Host/RegisterLoops.h"
#include "lib/Runtime/Host/ThreadTeam.h"

#include <algorithm>
#include <immintrin.h>

namespace tilewright::runtime {
namespace {

const RegisterLoop *bf16Loop(const InstructionSets &sets) {
  if (sets.amxTile && sets.amxBf16 && requestAmxPermission())
    return &bf16Tiles;
  if (sets.avx512bf16 && bf16DotRate() > 0.75)
    return &bf16Dot512;
  return nullptr;
}

const RegisterLoop *int8Loop(const InstructionSets &sets) {
  if (sets.amxTile && sets.amxInt8 && requestAmxPermission())
    return &byteTiles;
  return sets.avx512vnni ? &byteDot512 : nullptr;
}

const RegisterLoop *f32Loop(const InstructionSets &sets) {
  return sets.avx512f ? &fma512 : sets.avx2 && sets.fma ? &fma256 : nullptr;
}

/// Returns the operations per second of all threads, measured in rounds of at least a millisecond.
double measureLoop(const RegisterLoop *loop, int threads) {
  if (!loop)
    return 0;
  struct Job {
    const RegisterLoop *loop;
    int64_t count;
    std::atomic<int64_t> operations;
  };
  double best = 0;
  int64_t count = 1000;
  for (int round = 0; round < 60; ++round) {
    Job job{loop, count, 0};
    int64_t start = monotonicNanoseconds();
    ThreadTeam::process().run(
        threads,
        [](void *context, int, int) {
          auto &job = *static_cast<Job *>(context);
          job.loop->run(job.count);
          job.operations.fetch_add(job.count * job.loop->operations, std::memory_order_relaxed);
        },
        &job);
    int64_t spent = std::max<int64_t>(1, monotonicNanoseconds() - start);
    if (spent < 1'000'000) { // the round was too short compared with the clock's resolution and the start of threads
      count *= 2;
      continue;
    }
    best = std::max(best, double(job.operations.load()) * 1e9 / double(spent));
  }
  return best;
}

/// Reads `bytes` bytes, a multiple of 512.
__attribute__((target("avx2"))) void readAll(const uint8_t *data, int64_t bytes) {
  __m256i sums[8] = {};
  for (int64_t at = 0; at < bytes; at += 512) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; ++i)
      sums[i % 8] = _mm256_or_si256(sums[i % 8], _mm256_load_si256(reinterpret_cast<const __m256i *>(data + at) + i));
  }
  for (__m256i &sum : sums)
    __asm__ volatile("" : "+x"(sum));
}

__attribute__((target("avx512f"))) void readAllWide(const uint8_t *data, int64_t bytes) {
  __m512i sums[8] = {};
  for (int64_t at = 0; at < bytes; at += 512) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i)
      sums[i] = _mm512_or_si512(sums[i], _mm512_load_si512(data + at + 64 * i));
  }
  for (__m512i &sum : sums)
    __asm__ volatile("" : "+v"(sum));
}

/// Returns the total number of bytes per second that all threads read. Each thread repeatedly reads `bytes` bytes.
double measureReading(uint8_t *data, int64_t bytes, int threads, bool wide) {
  struct Job {
    uint8_t *data;
    int64_t bytes, repeats;
    bool wide;
  };
  bytes = bytes / 512 * 512;
  double best = 0;
  Job job{data, bytes, std::max<int64_t>(1, (int64_t(64) << 20) / bytes), wide};
  for (int round = 0; round < 8; ++round) {
    int64_t start = monotonicNanoseconds();
    int ran = ThreadTeam::process().run(
        threads,
        [](void *context, int thread, int) {
          auto &job = *static_cast<Job *>(context);
          for (int64_t i = 0; i < job.repeats; ++i)
            (job.wide ? readAllWide : readAll)(job.data + thread * job.bytes, job.bytes);
        },
        &job);
    int64_t spent = std::max<int64_t>(1, monotonicNanoseconds() - start);
    best = std::max(best, double(bytes) * double(job.repeats) * ran * 1e9 / double(spent));
  }
  return best;
}
} // namespace

MachinePeaks measurePeaks(int threads) {
  MachinePeaks peaks;
  MachineDescription machine;
  std::string error;
  if (!describeMachine(nullptr, machine, error))
    return peaks;
  const InstructionSets sets = hostInstructionSets();
  peaks.f32 = measureLoop(f32Loop(sets), threads);
  const RegisterLoop *bf16 = bf16Loop(sets);
  peaks.bf16 = bf16 ? measureLoop(bf16, threads) : peaks.f32;
  peaks.int8 = measureLoop(int8Loop(sets), threads);

  if (!sets.avx2)
    return peaks;
  int ran = ThreadTeam::process().run(threads, [](void *, int, int) {}, nullptr);
  // Each thread reads a buffer of half the size of a core's L1 or L2. For the shared L3, which other processes may use,
  // too, the buffers of all threads together have an eighth of its size, but each has at least twice the size of the
  // L2. For DRAM, all buffers together have four times the size of the L3, but at least 128 MiB and at most 512 MiB.
  int64_t l3 = std::max<int64_t>(machine.l3Bytes / 8 / ran, 2 * machine.l2Bytes);
  int64_t dram = std::min<int64_t>(std::max<int64_t>(machine.l3Bytes, 32 << 20) * 4, int64_t(512) << 20);
  Memory memory;
  if (!Memory::allocate(std::max(dram, l3 * ran), memory))
    return peaks;
  std::fill_n(reinterpret_cast<uint64_t *>(memory.data()), memory.size() / 8, 0x9e3779b97f4a7c15ull);
  peaks.l1 = measureReading(memory.data(), machine.l1dBytes / 2, threads, sets.avx512f);
  peaks.l2 = measureReading(memory.data(), machine.l2Bytes / 2, threads, sets.avx512f);
  peaks.l3 = measureReading(memory.data(), l3, threads, sets.avx512f);
  peaks.dram = measureReading(memory.data(), dram / ran, threads, sets.avx512f);
  return peaks;
}

} // namespace tilewright::runtime
