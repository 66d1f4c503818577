//===- KernelSpace.h - the search space of a kernel, by the kind of its schedule --------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_KERNELSPACE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_KERNELSPACE_H

#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "tilewright/ScheduleSpace.h"
#include <functional>

namespace tilewright::gpu {

/// The search space of a kernel: schedules of the kind that the kernel has. Its knobs are those of knobsOf()
/// (GpuParameters.h), in the same order. whyNot() accepts all points, except possibly the initial one.
struct KernelSpace {
  Schedule initial;
  ScheduleSpace space;
  /// Returns the reason why a schedule cannot be emitted, or an empty string if it can.
  std::function<std::string(const Schedule &)> whyNot;
  /// Returns the time in nanoseconds that the cost model predicts. Empty if there is no model for the kind.
  std::function<double(const Schedule &)> nanoseconds;

  Schedule at(const SchedulePoint &point) const;

  /// Adds the next knob of knobsOf(initial). `values` must be sorted; the function adds the initial value to them. If
  /// `reorders` is true, the knob determines the order of sums.
  void addKnob(std::vector<int64_t> values, bool reorders = false);
  /// Adds the constraint that the sum of `terms` is at most `limit`. `why` is the end of the sentence "so that ...".
  void addLimit(int64_t limit, std::vector<Constraint::Term> terms, std::string why);
};

/// Returns the search space of a kernel with the schedule `initial`. Returns std::nullopt if the kernel does not have
/// the form that the kind of schedule requires.
std::optional<KernelSpace> spaceOf(mlir::func::FuncOp kernel, const Schedule &initial, const Arch &arch);

// Each of these functions returns the search space of one kind of schedule.
KernelSpace spaceOfElements(const Schedule &initial);
KernelSpace spaceOfRows(const Schedule &initial);
std::optional<KernelSpace> spaceOfWindows(mlir::func::FuncOp kernel, const Schedule &initial);
KernelSpace spaceOfFma(const Contraction &product, const Schedule &initial);
std::optional<KernelSpace> spaceOfAttention(mlir::func::FuncOp kernel, const Schedule &initial, const Arch &arch);

} // namespace tilewright::gpu

#endif
