//===- ProductSpace.h - search space and cost model of a product on tensor cores ---------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PRODUCTSPACE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PRODUCTSPACE_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "lib/Codegen/GPU/Schedule/Product.h"
#include "tilewright/ScheduleSpace.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::gpu {

/// Returns the space of `product`, for which whyNotOnTensorCores() must return an empty string. The knobs are the size
/// of a warp's tile, the numbers of warps, the k of a step, the number of stages, and the number of rows of tiles in a
/// band. whyNotMma() accepts all points, except possibly `initial`. If the kernel reduces rows, tiles must have all
/// columns, and whyNotMma() accepts no point if it does not accept this number of columns.
ScheduleSpace spaceOfMma(Contraction product, const Arch &arch, const Schedule &initial);

Schedule scheduleOf(const SchedulePoint &point);

/// Returns the time in nanoseconds that the cost model predicts on a card of `arch`. An unknown size is assumed to be
/// 1024. If `parts` is above 1, the reduction is split into this many parts, which form a batch of products
/// (SplitSums.h).
double nanosecondsOfMma(const Schedule &schedule, Contraction product, const Arch &arch, int64_t parts = 1);

/// The sizes of a product in the cost model.
struct ProductSizes {
  int64_t m, n, k, batches;
  int64_t bytes;       ///< bytes of an element of A or B
  int64_t resultBytes; ///< bytes that the kernel writes for each element of the product
  int64_t sets;        ///< sets of sums that a thread has
  bool math;           ///< the epilogue, which reduces no rows, computes functions such as erf or exp
  /// The average number of times that the sums of one column read an element of A, or the sums of one row an element of
  /// B. The number is above 1 only for the image of a convolution.
  double readsOfA = 1, readsOfB = 1;
  int64_t taps = 1; ///< parts of `k` that have whole steps, such as the taps of a convolution
  /// Returns the bytes of A for `rows` rows and of B for `columns` columns.
  double bytesOf(double rows, double columns) const {
    return double(bytes) * double(k) * (rows / readsOfA + columns / readsOfB);
  }
  double operands() const { return bytesOf(double(m), double(n)); } ///< bytes of one product of the batch
};
/// Returns the sizes of `product` with its reduction split into `parts`. An unknown size is assumed to be 1024. If the
/// reduction is split, the kernel has no epilogue and writes the sums.
ProductSizes sizesOf(Contraction product, int64_t parts);
/// Returns the bytes that are transferred from and to the card's memory if `together` tiles of `schedule` are computed
/// at the same time. Results are written once. If the L2 cache can contain both operands, each operand is read once.
/// Otherwise each wave of tiles reads its parts of the operands again.
double bytesMoved(const ProductSizes &sizes, const Schedule &schedule, int64_t together, const Arch &arch);
/// Returns the predicted time in nanoseconds of `blocks` blocks if a multiprocessor executes `together` blocks at the
/// same time. `cyclesOf` returns the cycles of a number of blocks on one multiprocessor.
double nanosecondsOfWaves(int64_t blocks, int64_t together, llvm::function_ref<double(int64_t)> cyclesOf,
                          const ProductSizes &sizes, const Schedule &schedule, const Arch &arch);
/// Returns the values of a knob, sorted and without duplicates, including `also`.
std::vector<int64_t> sortedWith(std::vector<int64_t> values, int64_t also);
/// Returns the constraint that the sum of `terms` is at most `limit`. `why` is the end of the sentence "so that ...".
Constraint sumAtMost(int64_t limit, std::vector<Constraint::Term> terms, std::string why);
/// Returns the constraint that knob number `knob` has the value `value` only if the value of knob number `other` is
/// less than `limit`. `why` is the end of the sentence "so that ...".
Constraint onlyBelow(size_t knob, int64_t value, size_t other, int64_t limit, std::string why);
/// Returns `initial` or the schedule of `space` with the least predicted time, whichever is predicted to be faster.
Schedule fastestOf(const ScheduleSpace &space, Schedule initial,
                   llvm::function_ref<Schedule(const SchedulePoint &)> scheduleAt,
                   llvm::function_ref<double(const Schedule &)> nanoseconds);
/// Returns the candidates for the number of rows of tiles in a band: 1, and also 8 if the L2 cache cannot contain the
/// operands.
std::vector<int64_t> bandHeightsFor(const ProductSizes &sizes, const Arch &arch);

/// Returns the schedule of the space with the least predicted time, for a reduction that is split into `parts` parts.
Schedule chooseMma(Contraction product, const Arch &arch, int64_t parts = 1);

} // namespace tilewright::gpu

#endif
