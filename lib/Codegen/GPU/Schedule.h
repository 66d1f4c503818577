//===- Schedule.h - how a kernel is mapped to a grid, as data --------------------------===//
//
// dialects/Schedule/GpuParameters.h declares the parameters, and GpuSchedule.td describes them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_H

#include "dialects/Schedule/GpuParameters.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::gpu {

inline constexpr int64_t warpSize = 32, warpGroupSize = 128;
/// Maximum number of threads of a block (CUDA C++ Programming Guide, compute capabilities).
inline constexpr int64_t mostThreads = 1024;
/// Bytes of shared memory that a block can use without an explicit request.
inline constexpr int64_t mostStaticShared = 48 * 1024;

/// Attribute (unit) of kernels that are only called to compute values of parameters, once for each version of the
/// parameters.
inline constexpr llvm::StringLiteral onceKernelAttrName = "tw_gpu.once";

/// The parameters of a kernel's schedule.
using Schedule = schedule::GpuParameters;

void setSchedule(mlir::func::FuncOp kernel, const Schedule &schedule);
/// Returns the kernel's schedule. Emits an error and returns std::nullopt if the kernel has no schedule of this target,
/// or if the schedule has the kind `elements`, `scatter` or `windows` and its `vector` does not divide the rows of the
/// results.
std::optional<Schedule> getSchedule(mlir::func::FuncOp kernel);
/// Returns true if the kernel has a schedule that is not one of the kind `kind`.
bool hasScheduleExcept(mlir::func::FuncOp kernel, Schedule::Kind kind);

} // namespace tilewright::gpu

#endif
