//===- RegisterLoops.cpp - multiply-add loops on registers only ------------===//
#include "lib/Runtime/Host/RegisterLoops.h"
#include "lib/Runtime/Host/Futex.h"

#include <immintrin.h>

namespace tilewright::runtime {
namespace {

const struct Factors {
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

/// Defines the body of a loop that updates twelve accumulators, which are initialized with zero.
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

__attribute__((target("avx512f"), noinline)) void runFma512(int64_t count) { TW_LOOP("vfmadd231ps", "zmm", count); }

__attribute__((target("avx2,fma"), noinline)) void runFma256(int64_t count) { TW_LOOP("vfmadd231ps", "ymm", count); }

__attribute__((target("avx512f,avx512bf16"), noinline)) void runBf16Dot512(int64_t count) {
  TW_LOOP("vdpbf16ps", "zmm", count);
}

__attribute__((target("avx512f,avx512vnni"), noinline)) void runByteDot512(int64_t count) {
  TW_LOOP("vpdpbusd", "zmm", count);
}

#undef TW_LOOP
#undef TW_TWELVE
#undef TW_THREE

struct alignas(64) TileConfig {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t columnBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig tileConfig;

struct alignas(64) TileData {
  uint16_t values[512];
  constexpr TileData() : values() {
    for (int i = 0; i < 512; ++i)
      values[i] = uint16_t(0x3f80 + (i * 37) % 64);
  }
};
constexpr TileData tileData;

/// Multiplies two tiles with two tiles and adds the products to four accumulators, which uses all eight tile registers.
template <bool ofBytes> __attribute__((target("amx-tile,amx-bf16,amx-int8"))) void runTiles(int64_t count) {
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
    if constexpr (ofBytes) {
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 4, 7);
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    } else {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    __asm__ volatile("" ::: "memory");
  }
  _tile_release();
}
} // namespace

int64_t RegisterLoop::time(int64_t count) const {
  int64_t start = monotonicNanoseconds();
  run(count);
  return monotonicNanoseconds() - start;
}

constexpr RegisterLoop fma512{runFma512, 12 * 2 * 16}, fma256{runFma256, 12 * 2 * 8};
constexpr RegisterLoop bf16Dot512{runBf16Dot512, 12 * 2 * 32}, byteDot512{runByteDot512, 12 * 2 * 64};
constexpr RegisterLoop bf16Tiles{runTiles<false>, 4 * 2 * 16 * 16 * 32},
    byteTiles{runTiles<true>, 4 * 2 * 16 * 16 * 64};

} // namespace tilewright::runtime
