//===- Schedule.h - how a kernel is mapped to a grid, as data --------------------------===//
//
//   attributes {tw.schedule = {kind = "elements", threads = 256, vector = 4}}
//   attributes {tw.schedule = {kind = "rows", threads = 128, vector = 8, group = 32}}
//   attributes {tw.schedule = {kind = "rows", threads = 1024, vector = 4, group = 1024, cluster = 4}}
//   attributes {tw.schedule = {kind = "scatter", threads = 256, vector = 4}}
//   attributes {tw.schedule = {kind = "mma", threads = 128, block = array<i64: 128, 64, 32>,
//                              warps = array<i64: 2, 2>, stages = 3}}
//   attributes {tw.schedule = {kind = "wgmma", threads = 384, block = array<i64: 128, 256, 64>, consumers = 2,
//                              stages = 4}}
//   attributes {tw.schedule = {kind = "fma", threads = 256, block = array<i64: 64, 64, 16>, tile = array<i64: 4, 4>}}
//   attributes {tw.schedule = {kind = "attention", threads = 128, block = array<i64: 64, 64>, stages = 2}}
//   attributes {tw.schedule = {kind = "attention", threads = 384, block = array<i64: 128, 128>, consumers = 2,
//                              stages = 3}}
//
// elements: a thread computes `vector` adjacent elements of each result. Reductions are sequential.
// rows: `group` threads share a row of the kernel. Values of the whole row are reduced by shuffles, and through shared
//   memory if the group is more than a warp. With `rowsAcrossLanes`, a block has 32 rows, one per lane, and one lane of
//   each warp shares a row. This is for reductions over outer dimensions, where adjacent elements in memory belong to
//   different rows. On sm_90, the blocks of a `cluster` may share a row, with `group` threads in each block.
// scatter: a warp computes a row of the destination, or a piece of it, and tests 32 indices of the source at a time.
// mma: a block computes a tile (M, N; K at a time) of a product on tensor cores, with warps along M and N.
// wgmma: like mma, on sm_90. One warp group (128 threads) loads tiles of A and B, and each of `consumers` other warp
//   groups multiplies 64 or 128 rows of the tile.
//   mma and wgmma may have `tile_rows_per_band = 8`: blocks process tiles in bands of eight rows of tiles, column by
//   column. Concurrent blocks then read fewer rows and columns of operands that do not fit in the L2 cache. wgmma may
//   have `tiles_per_block = 4`: a block computes up to that many tiles one after the other, and loads the next tile's
//   operands while it stores. The numbers of these tiles differ by the size of the grid.
//   wgmma may have `cluster = 2`: each of two blocks, whose tiles are in the same column, loads a part of B's tile into
//   the shared memory of both.
// fma: a block computes a tile (M, N; K at a time) of a product of any type, and each thread computes a smaller tile in
//   registers.
// attention: a block processes rows of queries of one head, 16 per warp, and iterates over tiles of keys. In its
//   gradient, some blocks process rows of keys, and iterate over queries. With `consumers`, on sm_90, one warp group
//   loads, and each of the other warp groups processes 64 rows by wgmma.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cuda {

inline constexpr int64_t warpSize = 32, warpGroupSize = 128;

struct Schedule {
  enum class Kind { Elements, Rows, Scatter, Mma, Wgmma, Fma, Attention };
  Kind kind = Kind::Elements;
  int64_t threads = 256;        ///< threads per block
  int64_t vector = 1;           ///< adjacent elements that one thread computes
  int64_t group = 32;           ///< threads of a block that share a row: a warp, or all of them
  bool rowsAcrossLanes = false; ///< for rows: consecutive lanes have consecutive rows, which the warps share
  // For mma, wgmma and fma:
  int64_t m = 0, n = 0, k = 0;    ///< size of a block's tile
  int64_t warpsM = 0, warpsN = 0; ///< warps that share the tile, for mma
  int64_t consumers = 0;          ///< warp groups that share the tile, for wgmma; attention with 0 uses mma.sync
  int64_t tileM = 0, tileN = 0;   ///< size of a thread's tile, for fma
  int64_t tileRowsPerBand = 1;    ///< mma, wgmma: rows of tiles that consecutive blocks process column by column
  int64_t tilesPerBlock = 1;      ///< wgmma: tiles that a block computes one after the other
  int64_t cluster = 1;            ///< wgmma: blocks that share B's tile; rows: blocks that share a row
  // For mma, wgmma and, without k, attention:
  int64_t stages = 0; ///< number of slots in shared memory for tiles of A and B, or of keys and values
};

void setSchedule(mlir::func::FuncOp kernel, const Schedule &schedule);
/// Returns null if the kernel has no schedule. Emits an error and returns null if its schedule is invalid for this
/// target.
std::optional<Schedule> getSchedule(mlir::func::FuncOp kernel);

} // namespace tilewright::cuda

#endif
