//===- TunableKernels.h - the kernels of a model with their spaces and keys -------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_TUNE_TUNABLEKERNELS_H
#define TILEWRIGHT_LIB_COMPILER_TUNE_TUNABLEKERNELS_H

#include "lib/Compiler/Tune/KernelModules.h"
#include "lib/Tuner/Records.h"
#include "lib/Tuner/Search.h"
#include "tilewright/Target.h"

namespace tilewright {

struct TunableKernel {
  KernelModule kernel;
  tuner::Searched searched;   ///< no points: it has but one schedule
  ScheduleSpace wide;         ///< with what `searched` leaves out; no knobs: nothing
  tuner::KernelRecord record; ///< key, family, sizes and the default schedule
  std::vector<int64_t> tiles; ///< the default's, which points change
  std::string refusal;        ///< why it cannot be tuned by itself; empty: it can
  std::string signature;      ///< without a class of sizes; the key of `record` has it with one
};

/// Of `module` at the end of the structured stage, each distinct kernel.
llvm::Expected<std::vector<TunableKernel>> tunableKernels(mlir::ModuleOp module, Target &target,
                                                          const Options &options);

/// From now on `kernels` are those that are called when the model's symbolic sizes are `sizes`: with keys of their
/// classes of sizes (lib/Tuner/SizeClasses.h), and records that say nothing yet.
void beginAtSizes(std::vector<TunableKernel> &kernels, llvm::ArrayRef<int64_t> sizes);

/// The entry of a schedule file for `kernel` with `point`: {"tiles": [64, 96], "order": 1}. Empty for the default.
std::string scheduleEntry(const TunableKernel &kernel, const SchedulePoint &point);
/// The same for a point of kernel.wide.
std::string wideScheduleEntry(const TunableKernel &kernel, const SchedulePoint &point);

/// Lowers the graph `module` to the end of the structured stage, in place.
llvm::Error lowerToStructured(Session &session, mlir::ModuleOp module, const Options &options);

} // namespace tilewright

#endif
