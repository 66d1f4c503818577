//===- KernelSpace.h - the schedules that a kernel may have, by the kind of the one it has ----===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_KERNELSPACE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_KERNELSPACE_H

#include "lib/Target/CUDA/Arch.h"
#include "lib/Target/CUDA/Contraction.h"
#include "tilewright/ScheduleSpace.h"

namespace tilewright::cuda {

/// The space of a kernel that has more than one schedule of its kind: a product on tensor cores, `mma` or `wgmma`.
class KernelSpace {
public:
  /// Null where `initial`, the kernel's schedule, is the only one.
  static std::optional<KernelSpace> of(mlir::func::FuncOp kernel, const Schedule &initial, const Arch &arch);

  Schedule at(const SchedulePoint &point) const;
  /// What the model expects of it, in nanoseconds.
  double nanosecondsOf(const Schedule &schedule) const;
  /// Why it cannot be emitted; empty: it can.
  std::string whyNot(const Schedule &schedule) const;

  ScheduleSpace space;

private:
  KernelSpace(Contraction product, Schedule::Kind kind, const Arch &arch)
      : product(std::move(product)), kind(kind), arch(arch) {}

  Contraction product;
  Schedule::Kind kind;
  Arch arch;
};

} // namespace tilewright::cuda

#endif
