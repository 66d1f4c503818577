//===- WgmmaSpace.h - search space of a product by warp groups ---------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WGMMASPACE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WGMMASPACE_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "tilewright/ScheduleSpace.h"

namespace tilewright::gpu {

/// Returns the space of `product`, for which whyNotOnWarpGroups() must return an empty string. The knobs are the rows
/// of a warp group, the number of warp groups, the columns, the number of stages, the number of rows of tiles in a
/// band, the tiles per block, the blocks of a cluster that share B's tile, and those that share a sum. whyNotWgmma()
/// accepts all points, except possibly `initial`. The order of operands is that of `product` and not a knob. If the
/// kernel reduces rows, tiles must have all columns, and whyNotWgmma() accepts no point if it does not accept this
/// number of columns.
ScheduleSpace spaceOfWgmma(Contraction product, const Arch &arch, const Schedule &initial);

/// Returns the schedule at `point` of the space of `product`.
Schedule wgmmaAt(Contraction product, const SchedulePoint &point);

/// Returns the time in nanoseconds that the cost model predicts on a card of `arch`. An unknown size is assumed to be
/// 1024. If `parts` is above 1, the reduction is split into this many parts, which form a batch of products
/// (SplitSums.h).
double nanosecondsOfWgmma(const Schedule &schedule, Contraction product, const Arch &arch, int64_t parts = 1);

/// Returns the schedule with the least predicted time, for a reduction that is split into `parts` parts. If the product
/// has fewer rows than a tile, the schedule may swap the operands.
Schedule chooseWgmma(Contraction product, const Arch &arch, int64_t parts = 1);
/// A schedule with the time in nanoseconds that the cost model predicts.
struct TimedSchedule {
  Schedule schedule;
  double nanoseconds;
};
/// Returns the product whose space is that of a kernel that computes all `products`. It is one whose B is not
/// contiguous along k, if there is any, because fewer widths of tiles are possible for it.
Contraction mostRestricted(llvm::ArrayRef<Contraction> products);
/// Returns the schedule with the least predicted time for a kernel that computes all `products`, which have the same
/// rows and terms (JoinProducts.h). Returns std::nullopt if the schedule cannot be emitted for one of them.
std::optional<TimedSchedule> chooseWgmmaForAll(llvm::ArrayRef<Contraction> products, const Arch &arch);
/// Returns the time in nanoseconds that the cost model predicts for a kernel that computes all `products`.
double nanosecondsOfWgmmaForAll(const Schedule &schedule, llvm::ArrayRef<Contraction> products, const Arch &arch);

/// Returns the schedule of chooseWgmma(), or std::nullopt if the architecture or warp groups do not support the product
/// or this schedule.
std::optional<Schedule> wgmmaFor(Contraction product, const Arch &arch);
/// Returns wgmmaFor() of the kernel's contraction, or std::nullopt if matchContraction() does not accept the kernel.
std::optional<Schedule> wgmmaFor(mlir::func::FuncOp kernel, const Arch &arch);

} // namespace tilewright::gpu

#endif
