//===- TunableKernels.h - the kernels of a model with their spaces and keys -------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WORKERS_TUNABLEKERNELS_H
#define TILEWRIGHT_LIB_TUNER_WORKERS_TUNABLEKERNELS_H

#include "lib/Tuner/Records.h"
#include "lib/Tuner/Search.h"
#include "lib/Tuner/Workers/KernelModules.h"
#include "tilewright/Target.h"

namespace tilewright {

struct TunableKernel {
  KernelModule kernel;
  tuner::Searched searched; ///< has fewer than two points if there is nothing to tune
  ScheduleSpace wide; ///< space that also has the schedules that `searched` excludes; without knobs if there are none
  tuner::KernelRecord record; ///< key, family, sizes and the default schedule
  std::vector<int64_t> tiles; ///< tiles of the default schedule; the knobs of a point replace some of them
  std::string refusal;        ///< reason why the kernel cannot be tuned separately; empty if it can
  std::string signature;      ///< signature without a class of sizes; the key of `record` includes the class
};

/// Returns each distinct kernel of `module`, which is at the end of the structured stage.
llvm::Expected<std::vector<TunableKernel>> tunableKernels(mlir::ModuleOp module, Target &target,
                                                          const Options &options);

/// Prepares `kernels` for the symbolic sizes `sizes` of the model: replaces the record of each kernel by one without
/// measurements. If the kernel has symbolic sizes, the key of the new record contains their class
/// (lib/Tuner/SizeClasses.h).
void beginAtSizes(std::vector<TunableKernel> &kernels, llvm::ArrayRef<int64_t> sizes);

/// Returns the schedule file's entry for `kernel` with `point`: {"tiles": [64, 96], "order": 1}; "" for the default.
std::string scheduleEntry(const TunableKernel &kernel, const SchedulePoint &point);
/// Returns the entry for a point of kernel.wide.
std::string wideScheduleEntry(const TunableKernel &kernel, const SchedulePoint &point);

/// Lowers the graph `module` to the stage from which the tuner takes kernels, in place: the structured stage or, if
/// Target::keepsScheduledKernels(), the tiled stage with the default schedules.
llvm::Error lowerToKernels(Session &session, mlir::ModuleOp module, Target &target, const Options &options);

} // namespace tilewright

#endif
