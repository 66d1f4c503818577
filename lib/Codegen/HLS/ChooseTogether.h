//===- ChooseTogether.h - one schedule per nest under a common budget -----------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHOOSETOGETHER_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHOOSETOGETHER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tilewright::hls {

/// The cycles and the multipliers (DSP slices) of each schedule of a loop nest. The schedules have increasing
/// multipliers and decreasing cycles.
struct NestCosts {
  struct Cost {
    int64_t cycles, dsp;
  };
  int64_t launches = 1; ///< number of launches of the nest's kernel; each launch has separate multipliers
  llvm::SmallVector<Cost> choices;
};

/// A launch of a kernel. Its nests run one after another, after the earlier launches in `after` have ended.
struct LaunchStep {
  llvm::SmallVector<size_t> nests, after;
};

/// Returns the index of a schedule for each nest. The schedules have at most `budget` multipliers in total, and the
/// shortest latency that the search by weighted sums of cycles finds (ChooseTogether.cpp). Returns an empty list if
/// even the schedules with the fewest multipliers exceed the budget.
llvm::SmallVector<size_t> chooseTogether(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps,
                                         int64_t budget);

/// Selects schedules with fewer multipliers as long as the product of multipliers and latency decreases, the largest
/// decrease first. Neither the latency nor the time of the slowest launch may increase by more than 5%.
void removeMultipliers(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps,
                       llvm::SmallVector<size_t> &picked);

/// Returns the cycles from the start of the first launch to the end of the last launch if the nests use the schedules
/// `picked`.
int64_t latencyOf(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps, llvm::ArrayRef<size_t> picked);

} // namespace tilewright::hls

#endif
