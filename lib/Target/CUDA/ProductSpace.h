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

/// The point that the model ranks first.
Schedule chooseMma(Contraction product, const Arch &arch, int64_t parts = 1);

} // namespace tilewright::cuda

#endif
