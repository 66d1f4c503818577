//===- KernelSpace.h - the search space of a kernel, by the kind of its schedule --------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_KERNELSPACE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_KERNELSPACE_H

#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "tilewright/ScheduleSpace.h"

namespace tilewright::gpu {

/// The search space of a kernel with several schedules of one kind. Only products on tensor cores (`mma` or `wgmma`)
/// have one.
class KernelSpace {
public:
  /// Returns the space. Returns std::nullopt if `initial`, the kernel's schedule, is neither `mma` nor `wgmma`, or if
  /// the kernel is not a contraction.
  static std::optional<KernelSpace> of(mlir::func::FuncOp kernel, const Schedule &initial, const Arch &arch);

  Schedule at(const SchedulePoint &point) const;
  /// Returns the time in nanoseconds that the cost model predicts.
  double nanosecondsOf(const Schedule &schedule) const;
  /// Returns the reason why the schedule cannot be emitted, or an empty string if it can.
  std::string whyNot(const Schedule &schedule) const;

  ScheduleSpace space;

private:
  KernelSpace(Contraction product, Schedule::Kind kind, const Arch &arch)
      : product(std::move(product)), kind(kind), arch(arch) {}

  Contraction product;
  Schedule::Kind kind;
  Arch arch;
};

} // namespace tilewright::gpu

#endif
