//===- MachinePeaks.cpp - what a machine can do at most -------------------===//
//
// Loops on registers, and loops that only read. All threads run one loop at the same time; the best of several rounds
// counts, since interrupts and neighbours only take away.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Host/MachinePeaks.h"
#include "lib/Runtime/Host/Futex.h"
#include "lib/Runtime/Host/Machine.h"
#include "lib/Runtime/Host/Memory.h"
#include "lib/Runtime/Host/ThreadTeam.h"

#include <algorithm>
#include <immintrin.h>

namespace tilewright::runtime {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t columnBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig tileConfig;

/// Small ordinary numbers: zeros draw less power and clock higher.
struct alignas(64) TileData {
  uint16_t values[512];
  constexpr TileData() : values() {
    for (int i = 0; i < 512; ++i)
      values[i] = uint16_t(0x3f80 + (i * 37) % 64);
  }
};
constexpr TileData tileData;

/// Operations that a loop did.
using Loop = double (*)(int64_t count);

__attribute__((target("amx-tile,amx-bf16"))) double tileBf16Loop(int64_t count) {
  _tile_loadconfig(&tileConfig);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, tileData.values, 64);
  _tile_loadd(5, tileData.values, 64);
  _tile_loadd(6, tileData.values, 64);
  _tile_loadd(7, tileData.values, 64);
  for (int64_t i = 0; i < count; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    __asm__ volatile("" ::: "memory");
  }
  _tile_release();
  return double(count) * 4 * 2 * 16 * 16 * 32;
}

__attribute__((target("amx-tile,amx-int8"))) double tileInt8Loop(int64_t count) {
  _tile_loadconfig(&tileConfig);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, tileData.values, 64);
  _tile_loadd(5, tileData.values, 64);
  _tile_loadd(6, tileData.values, 64);
  _tile_loadd(7, tileData.values, 64);
  for (int64_t i = 0; i < count; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
    __asm__ volatile("" ::: "memory");
  }
  _tile_release();
  return double(count) * 4 * 2 * 16 * 16 * 64;
}

/// Twelve independent sums, so that neither latency nor the loop counts.
#define TW_SUMS(VECTOR, ZERO, VALUE, STEP, OPERATIONS)                                                                 \
  VECTOR sums[12];                                                                                                     \
  for (VECTOR &sum : sums)                                                                                             \
    sum = ZERO;                                                                                                        \
  VECTOR a = VALUE(0), b = VALUE(64);                                                                                  \
  for (int64_t i = 0; i < count; ++i) {                                                                                \
    _Pragma("clang loop unroll(full)") for (VECTOR &sum : sums) {                                                      \
      sum = STEP;                                                                                                      \
      __asm__ volatile("" : "+v"(sum));                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  return double(count) * 12 * (OPERATIONS)

__attribute__((target("avx512f"))) double fma512Loop(int64_t count) {
#define TW_VALUE(AT) _mm512_set1_ps(0.5f + AT * 1e-3f)
  TW_SUMS(__m512, _mm512_setzero_ps(), TW_VALUE, _mm512_fmadd_ps(a, b, sum), 32);
#undef TW_VALUE
}

__attribute__((target("avx2,fma"))) double fma256Loop(int64_t count) {
#define TW_VALUE(AT) _mm256_set1_ps(0.5f + AT * 1e-3f)
  TW_SUMS(__m256, _mm256_setzero_ps(), TW_VALUE, _mm256_fmadd_ps(a, b, sum), 16);
#undef TW_VALUE
}

__attribute__((target("avx512f,avx512bf16"))) double dot512Loop(int64_t count) {
#define TW_VALUE(AT) (__m512bh) _mm512_set1_epi32(0x3f803f00 + AT)
  __m512 sums[12];
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  __m512bh a = TW_VALUE(0), b = TW_VALUE(64);
#undef TW_VALUE
  for (int64_t i = 0; i < count; ++i) {
#pragma clang loop unroll(full)
    for (__m512 &sum : sums) {
      sum = _mm512_dpbf16_ps(sum, a, b);
      __asm__ volatile("" : "+v"(sum));
    }
  }
  return double(count) * 12 * 64;
}

__attribute__((target("avx512f,avx512vnni"))) double vnni512Loop(int64_t count) {
#define TW_VALUE(AT) _mm512_set1_epi32(0x01020304 + AT)
  TW_SUMS(__m512i, _mm512_setzero_si512(), TW_VALUE, _mm512_dpbusd_epi32(sum, a, b), 128);
#undef TW_VALUE
}
#undef TW_SUMS

Loop bf16Loop(const InstructionSets &sets) {
  if (sets.amxTile && sets.amxBf16 && requestAmxPermission())
    return tileBf16Loop;
  if (sets.avx512bf16 && bf16DotRate() > 0.75)
    return dot512Loop;
  return nullptr;
}

Loop int8Loop(const InstructionSets &sets) {
  if (sets.amxTile && sets.amxInt8 && requestAmxPermission())
    return tileInt8Loop;
  return sets.avx512vnni ? vnni512Loop : nullptr;
}

Loop f32Loop(const InstructionSets &sets) {
  return sets.avx512f ? fma512Loop : sets.avx2 && sets.fma ? fma256Loop : nullptr;
}

/// Operations per second of all threads: rounds of about a millisecond.
double measureLoop(Loop loop, int threads) {
  if (!loop)
    return 0;
  struct Job {
    Loop loop;
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
          job.operations.fetch_add(int64_t(job.loop(job.count)), std::memory_order_relaxed);
        },
        &job);
    int64_t spent = std::max<int64_t>(1, monotonicNanoseconds() - start);
    if (spent < 1'000'000) { // too short for the clock and the start of the threads
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

/// Bytes per second that all threads read, each its own `bytes` again and again.
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
  Loop narrow = bf16Loop(sets);
  peaks.bf16 = narrow ? measureLoop(narrow, threads) : peaks.f32;
  peaks.int8 = measureLoop(int8Loop(sets), threads);

  if (!sets.avx2)
    return peaks;
  int ran = ThreadTeam::process().run(threads, [](void *, int, int) {}, nullptr);
  // Half of a core's own caches; of the shared one an eighth, as much as neighbours may leave; for DRAM more than it.
  int64_t l3 = std::max<int64_t>(machine.l3Bytes / 8 / ran, 2 * machine.l2Bytes);
  int64_t dram = std::min<int64_t>(std::max<int64_t>(machine.l3Bytes, 32 << 20) * 5 / 4, int64_t(512) << 20);
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
