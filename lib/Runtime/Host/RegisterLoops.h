//===- RegisterLoops.h - multiply-add loops on registers only -------------===//
//
// This file declares loops that measure the peak rates of the machine (MachineTiming.cpp, MachinePeaks.cpp). The
// accumulators are independent, so that neither latency nor loop overhead limits the rate. The operands are small
// normal numbers, because zeros draw less power and permit a higher clock rate.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_REGISTERLOOPS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_REGISTERLOOPS_H

#include <cstdint>

namespace tilewright::runtime {

/// A loop for one instruction set.
struct RegisterLoop {
  void (*run)(int64_t count);
  int64_t operations; ///< operations per iteration; a multiplication and an addition count as two

  /// Returns the nanoseconds of `count` iterations.
  int64_t time(int64_t count) const;
};

extern const RegisterLoop fma512, fma256; ///< vfmadd231ps
extern const RegisterLoop bf16Dot512;     ///< vdpbf16ps
extern const RegisterLoop byteDot512;     ///< vpdpbusd
/// tdpbf16ps and tdpbssd; require requestAmxPermission().
extern const RegisterLoop bf16Tiles, byteTiles;

} // namespace tilewright::runtime

#endif
