//===- Schedule.h - how a kernel is mapped to a grid, as data --------------------------===//
//
// The struct Schedule has the parameters of the attribute #tw_gpu.schedule as integers, so that passes can compute with
// them. dialects/Schedule/GpuSchedule.td describes the kinds of schedules and their parameters.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_H

#include "dialects/Schedule/GpuSchedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::gpu {

inline constexpr int64_t warpSize = 32, warpGroupSize = 128;
/// Maximum number of threads of a block (CUDA C++ Programming Guide, compute capabilities).
inline constexpr int64_t mostThreads = 1024;
/// Bytes of shared memory that a block can use without an explicit request.
inline constexpr int64_t mostStaticShared = 48 * 1024;

/// Attribute (unit) of kernels that this target has made from kernels of the structured stage. The tuner finds no such
/// kernel in the structured stage, so it cannot measure them.
inline constexpr llvm::StringLiteral madeInStageAttrName = "tw_gpu.made";

struct Schedule {
  using Kind = schedule::GpuKind;
  Kind kind = Kind::Elements;
  int64_t threads = 256;        ///< threads per block
  int64_t vector = 1;           ///< adjacent elements that one thread computes
  int64_t group = 32;           ///< threads of a block that share a row: a warp, all threads, or one per warp
  bool rowsAcrossLanes = false; ///< for rows: consecutive lanes have consecutive rows, which the warps share
  // Parameters of mma, wgmma, fma and attention (`k` not of attention, `cluster` also of rows):
  int64_t m = 0, n = 0, k = 0;    ///< size of a block's tile
  int64_t warpsM = 0, warpsN = 0; ///< warps that share the tile, for mma
  int64_t consumers = 0;          ///< warp groups that share the tile, for wgmma; attention with 0 uses mma.sync
  int64_t tileM = 0, tileN = 0;   ///< size of a thread's tile, for fma; lines and pixels of it, for windows
  int64_t tileRowsPerBand = 1;    ///< mma, wgmma: rows of tiles that consecutive blocks process column by column
  int64_t tilesPerBlock = 1;      ///< wgmma: tiles that a block computes one after the other
  int64_t cluster = 1;            ///< wgmma: blocks that share B's tile; rows: blocks that share a row
  bool swapped = false;           ///< wgmma: `m` are columns and `n` rows of the kernel's product
  // Parameter of mma, wgmma and attention:
  int64_t stages = 0; ///< number of slots in shared memory for tiles of A and B, or of keys and values
};

void setSchedule(mlir::func::FuncOp kernel, const Schedule &schedule);
/// Returns the kernel's schedule. Emits an error and returns std::nullopt if the kernel has no schedule of this target,
/// or if the schedule has the kind `elements`, `scatter` or `windows` and its `vector` does not divide the rows of the
/// results.
std::optional<Schedule> getSchedule(mlir::func::FuncOp kernel);

} // namespace tilewright::gpu

#endif
