//===- MachinePeaks.h - peak rates of a machine ---------------------------===//
//
// For benchmarks: upper bounds with which a kernel's time is compared. Every rate is measured on as many threads as
// the kernels use, because clock rates and the caches beyond L2 are shared.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_MACHINEPEAKS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_MACHINEPEAKS_H

namespace tilewright::runtime {

/// Operations (a multiplication and an addition count as two) and bytes read, per second, of all threads together; 0
/// for instructions that the CPU does not have.
struct MachinePeaks {
  double f32 = 0;  ///< FMA on the widest vectors
  double bf16 = 0; ///< tiles, else dot products if they are at full rate, else f32
  double int8 = 0; ///< tiles, else VNNI
  double l1 = 0, l2 = 0, l3 = 0, dram = 0;
};

/// Measures for about a second on up to `threads` threads (0: the default, see clipThreads).
MachinePeaks measurePeaks(int threads);

} // namespace tilewright::runtime

#endif
