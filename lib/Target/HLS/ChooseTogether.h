//===- ChooseTogether.h - one schedule per nest, all under one budget -----------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_CHOOSETOGETHER_H
#define TILEWRIGHT_TARGET_HLS_CHOOSETOGETHER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tilewright::hls {

/// What the schedules of a nest cost: ever more multipliers, ever fewer cycles.
struct NestCosts {
  struct Cost {
    int64_t cycles, dsp;
  };
  int64_t launches = 1; ///< of its kernel; each launch has multipliers of its own
  llvm::SmallVector<Cost> choices;
};

/// A launch of a kernel: its nests run one after another, when the launches of `after`, which come before it, are done.
struct LaunchStep {
  llvm::SmallVector<size_t> nests, after;
};

/// A choice per nest, whose multipliers are at most `budget`: the shortest time from the first launch to the last that
/// weighted sums of cycles find. Empty: even the least choices need more.
llvm::SmallVector<size_t> chooseTogether(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps,
                                         int64_t budget);

/// Takes multipliers from nests as long as multipliers x cycles become fewer, where that gains most first.
void giveBack(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps, llvm::SmallVector<size_t> &picked);

/// From the first launch to the last, with these choices.
int64_t latencyOf(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps, llvm::ArrayRef<size_t> picked);

} // namespace tilewright::hls

#endif
