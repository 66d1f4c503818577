//===- RegisterLoops.h - multiplications and additions on registers alone -===//
//
// What the machine's speed is measured with (MachineTiming.cpp, MachinePeaks.cpp): independent sums, so that neither
// latency nor the loop counts, of small ordinary numbers, because zeros draw less power and clock higher.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_REGISTERLOOPS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_REGISTERLOOPS_H

#include <cstdint>

namespace tilewright::runtime {

/// A loop that needs the instruction set its name says.
struct RegisterLoop {
  void (*run)(int64_t count);
  int64_t operations; ///< of one time around; a multiplication and an addition are two

  /// Nanoseconds of `count` times around.
  int64_t time(int64_t count) const;
};

extern const RegisterLoop fma512, fma256; ///< vfmadd231ps
extern const RegisterLoop bf16Dot512;     ///< vdpbf16ps
extern const RegisterLoop byteDot512;     ///< vpdpbusd
/// tdpbf16ps and tdpbssd; after requestAmxPermission().
extern const RegisterLoop bf16Tiles, byteTiles;

} // namespace tilewright::runtime

#endif
