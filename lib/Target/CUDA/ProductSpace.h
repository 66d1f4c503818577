//===- ProductSpace.h - the schedules that tensor cores may have for a product -----------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_PRODUCTSPACE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_PRODUCTSPACE_H

#include "lib/Target/CUDA/Arch.h"
#include "lib/Target/CUDA/Product.h"
#include "tilewright/ScheduleSpace.h"

namespace tilewright::cuda {

/// The space of `product`, of which whyNotOnTensorCores() is empty: tiles of a warp, warps, k of a step, stages. None
/// of its points is refused by whyNotMma(), but for `initial` where it is.
ScheduleSpace spaceOfMma(Contraction product, const Arch &arch, const Schedule &initial);

Schedule scheduleOf(const SchedulePoint &point);

/// What the model expects of it on a card of `arch`, in nanoseconds. Sizes that are not known are taken for 1024. With
/// `parts` its sum is in so many, each a product of a batch (SplitSums.h).
double nanosecondsOfMma(const Schedule &schedule, Contraction product, const Arch &arch, int64_t parts = 1);

/// What a model of a product knows of its sizes.
struct ProductSizes {
  int64_t m, n, k, batches;
  int64_t bytes, resultBytes;                                                   ///< of an element
  int64_t sets;                                                                 ///< of sums, that a thread has
  double operands() const { return double(bytes) * double(k) * double(m + n); } ///< bytes, of one of the batch
};
/// Those of `product`, whose sum is in so many parts; unknown ones are taken for 1024.
ProductSizes sizesOf(Contraction product, int64_t parts);
/// Bytes from the card's memory where so many tiles of `schedule` are computed together: each operand once where the
/// second-level cache holds it, else what each wave of tiles reads.
double bytesMoved(const ProductSizes &sizes, const Schedule &schedule, int64_t together, const Arch &arch);
/// The rows of tiles in a band that are worth a try: one, and eight where operands do not fit the second-level cache.
std::vector<int64_t> rastersFor(const ProductSizes &sizes, const Arch &arch);

/// The point that the model ranks first.
Schedule chooseMma(Contraction product, const Arch &arch, int64_t parts = 1);

} // namespace tilewright::cuda

#endif
