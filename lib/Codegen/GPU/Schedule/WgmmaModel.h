//===- WgmmaModel.h - cost model of a product by warp groups --------------------------------===//
//
// The model predicts the time of a product with the schedule `wgmma`. Its parameters are fitted to measured times
// (test/Tuner/Inputs/gpu) by tools/dev/fit_wgmma.py, which also prints how well the model predicts products that the
// fit has not seen. docs/decisions/0030-wgmma.md has the results.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WGMMAMODEL_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WGMMAMODEL_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"

namespace tilewright::gpu {

/// The parameters of the model. Cycles are those of a multiprocessor.
struct WgmmaRates {
  /// Bytes per cycle that one multiprocessor receives from the L2 cache.
  double cacheRate = 90;
  /// Cycles from the request for a tile in the L2 cache until its last bytes arrive, except the transfer time. The
  /// model adds twice the time to transfer the tile.
  double latency = 972;
  /// Additional cycles if all bytes come from the card's memory.
  double memoryLatency = 1376;
  /// Additional cycles of a step for each block that requests the same rows of A (columns of B). They are added if a
  /// tile has more rows (columns) than the product.
  double fewRows = 4.07;
  /// Cycles that one step of a tile of 128 x 128 elements takes to add its sums to the accumulators (8-bit floats).
  double promotion = 9.9;
  /// Bytes of results per cycle that one warp group converts and stores.
  double epilogueRate = 18.9;
  /// Time to compute a math function of an element, relative to the time to convert and store two bytes.
  double mathFunction = 3.6;
  /// Bytes of results per cycle that one multiprocessor stores.
  double storeRate = 131;
  /// Cycles to start and end a block.
  double block = 68;
  /// Nanoseconds to launch the kernel.
  double launch = kernelLaunch;
};

/// A parameter of the model with the range in which the fit searches its value.
struct WgmmaRate {
  llvm::StringLiteral name;
  double WgmmaRates::*value;
  double least, most;
};
llvm::ArrayRef<WgmmaRate> wgmmaRates();

/// Returns the predicted time in nanoseconds of a product of `sizes` on a card of `arch`. `schedule` has the kind
/// `wgmma`. The parts of the model for `cluster` and `split_k` have not been compared with measurements.
double nanosecondsOfWgmma(const Schedule &schedule, const ProductSizes &sizes, const Arch &arch,
                          const WgmmaRates &rates = {});

} // namespace tilewright::gpu

#endif
