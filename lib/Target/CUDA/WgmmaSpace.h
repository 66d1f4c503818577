//===- WgmmaSpace.h - the schedules that warp groups may have for a product ---------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_WGMMASPACE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_WGMMASPACE_H

#include "lib/Target/CUDA/Arch.h"
#include "lib/Target/CUDA/WarpGroupProduct.h"
#include "tilewright/ScheduleSpace.h"

namespace tilewright::cuda {

/// The space of `product`, of which whyNotOnWarpGroups() is empty: rows of a warp group, warp groups, columns, stages.
/// None of its points is refused by whyNotWgmma(), but for `initial` where it is.
ScheduleSpace spaceOfWgmma(Contraction product, const Arch &arch, const Schedule &initial);

Schedule wgmmaAt(Contraction product, const SchedulePoint &point);

/// What the model expects of it on a card of `arch`, in nanoseconds. Sizes that are not known are taken for 1024. With
/// `parts` its sum is in so many, each a product of a batch (SplitSums.h).
double nanosecondsOfWgmma(const Schedule &schedule, Contraction product, const Arch &arch, int64_t parts = 1);

/// The point that the model ranks first.
Schedule chooseWgmma(Contraction product, const Arch &arch, int64_t parts = 1);

} // namespace tilewright::cuda

#endif
