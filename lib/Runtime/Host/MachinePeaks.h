//===- MachinePeaks.h - peak rates of a machine ---------------------------===//
//
// Benchmarks compare the time of a kernel with these upper bounds. A rate should be measured on as many threads as the
// kernel uses, because the active cores share the L3 and the memory bandwidth and influence the clock rate.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_MACHINEPEAKS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_MACHINEPEAKS_H

namespace tilewright::runtime {

/// The numbers of operations and of bytes read per second, summed over all threads. A multiply-add counts as two
/// operations. A rate that cannot be measured on the CPU is 0.
struct MachinePeaks {
  double f32 = 0;  ///< FMA on the widest vectors
  double bf16 = 0; ///< tile instructions if available, else dot products if they run at full rate, else f32
  double int8 = 0; ///< tile instructions if available, else AVX512-VNNI
  double l1 = 0, l2 = 0, l3 = 0, dram = 0;
};

/// Measures the peak rates on up to `threads` threads. If `threads` is 0, uses the default number of threads
/// (clipThreads() in Affinity.h).
MachinePeaks measurePeaks(int threads);

} // namespace tilewright::runtime

#endif
