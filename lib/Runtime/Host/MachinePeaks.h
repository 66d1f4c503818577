//===- MachinePeaks.h - what a machine can do at most ---------------------===//
//
// For benchmarks: the roof that a kernel's time is compared with. Every number is measured on as many threads as the
// kernels use, because clocks and the caches behind the second level are shared.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_MACHINEPEAKS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_MACHINEPEAKS_H

namespace tilewright::runtime {

/// Operations (a multiplication and an addition are two) and bytes read, per second, of all threads together; 0 for
/// what the CPU does not have.
struct MachinePeaks {
  double f32 = 0;  ///< FMA on the widest vectors
  double bf16 = 0; ///< tiles, else dot products where they are at full rate, else f32
  double int8 = 0; ///< tiles, else VNNI
  double l1 = 0, l2 = 0, l3 = 0, dram = 0;
};

/// Measures for about a second on up to `threads` threads (0: the default, see clipThreads).
MachinePeaks measurePeaks(int threads);

} // namespace tilewright::runtime

#endif
