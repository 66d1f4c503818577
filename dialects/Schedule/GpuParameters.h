//===- GpuParameters.h - the parameters of a schedule for GPUs, as numbers -----===//
//
// The struct GpuParameters has the parameters of the attribute #tw_gpu.schedule as integers, so that passes can compute
// with them. GpuSchedule.td describes the kinds of schedules and their parameters. This header also declares the knobs
// of each kind, whose names are used in search spaces, tuning records and schedule files.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_GPUPARAMETERS_H
#define TILEWRIGHT_DIALECTS_SCHEDULE_GPUPARAMETERS_H

#include "dialects/Schedule/GpuSchedule.h"

namespace tilewright::schedule {

struct GpuParameters {
  using Kind = GpuKind;
  Kind kind = Kind::Elements;
  int64_t threads = 256; ///< threads per block
  int64_t vector = 1;    ///< adjacent elements that one thread computes
  int64_t group = 32;    ///< threads of a block that share a row: a warp, all threads, or one per warp
  /// For `rows`: true if consecutive lanes have consecutive rows, which the warps of the block share.
  bool rowsAcrossLanes = false;
  // Parameters of `mma`, `wgmma`, `fma` and `attention`. `attention` has no `k`, and `rows` has `cluster`, too.
  int64_t m = 0, n = 0, k = 0;    ///< size of a block's tile
  int64_t warpsM = 0, warpsN = 0; ///< for `mma`: warps that share the tile
  int64_t consumers = 0;          ///< for `wgmma`: warp groups that share the tile; attention with 0 uses mma.sync
  int64_t tileM = 0, tileN = 0;   ///< for `fma`: size of a thread's tile; for `windows`: lines and pixels of it
  int64_t tileRowsPerBand = 1;    ///< mma, wgmma: rows of tiles that consecutive blocks process column by column
  int64_t tilesPerBlock = 1;      ///< wgmma: tiles that a block computes one after the other
  int64_t cluster = 1;            ///< wgmma: blocks that share B's tile; rows: blocks that share a row
  int64_t splitK = 1;             ///< wgmma: blocks of a cluster that each compute a part of a tile's sums
  bool swapped = false;           ///< wgmma: `m` are columns and `n` rows of the kernel's product
  // Parameter of mma, wgmma and attention:
  int64_t stages = 0; ///< number of slots in shared memory for tiles of A and B, or of keys and values

  /// Returns the number of blocks of a cluster.
  int64_t blocksOfCluster() const { return cluster * splitK; }
};

GpuParameters parametersOf(GpuScheduleAttr schedule);
/// Returns the constraint schedule_c1, c3, c4 or c5 of GpuSchedule.td that the parameters violate, or an empty string.
std::string whyInvalid(const GpuParameters &parameters);
/// Returns the attribute, without a record. The parameters must satisfy the constraints of GpuSchedule.td.
GpuScheduleAttr attributeOf(mlir::MLIRContext *context, const GpuParameters &parameters);

using NamedKnob = std::pair<llvm::StringLiteral, int64_t>;
/// Returns the knobs of a schedule of this kind, with their values. The knobs determine all parameters of the schedule
/// that may differ between the schedules of a kernel.
///   elements, scatter     threads, vector
///   rows                  group, rows_per_block, vector, cluster; with rows_across_lanes: group, cluster
///   windows               threads, vector, tile_lines, tile_pixels
///   fma                   tile_m, tile_n, threads_m, threads_n (the threads along the block's tile), k
///   mma                   warp_m, warp_n (the tile of a warp), warps_m, warps_n, k, stages, tile_rows_per_band
///   wgmma                 consumer_rows, consumers, n, stages, tile_rows_per_band, tiles_per_block, cluster,
///                         split_k
///   attention             consumers, n, stages; without consumers: warps, n, stages
llvm::SmallVector<NamedKnob, 8> knobsOf(const GpuParameters &parameters);
/// Returns the parameters with other values of some knobs. Returns std::nullopt if the kind does not have a knob, or if
/// a value is not positive. The parameters may violate the constraints of GpuSchedule.td.
std::optional<GpuParameters> withKnobs(const GpuParameters &parameters, KnobValues values);

} // namespace tilewright::schedule

#endif
