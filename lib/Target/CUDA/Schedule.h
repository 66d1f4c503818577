//===- Schedule.h - how a kernel is laid over a grid, as data --------------------------===//
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
// elements: a thread computes `vector` neighbouring elements of each result, its reductions in order.
// rows: `group` threads share a row of the kernel; what a row has in common is reduced by shuffles, and through shared
//   memory where the group is more than a warp. With `turned` a block has 32 rows, one a lane, for reductions over
//   outer dimensions, whose neighbours in memory are of different rows: the warps share the rows. On sm_90 a row may be
//   shared by the blocks of a `cluster`, `group` threads of each.
// scatter: a warp has a row of the destination, or a piece of it, and looks for what goes there 32 places at a time.
// mma: a block computes a tile (M, N; K at a time) of a product on tensor cores, by warps in M and N.
// wgmma: the same on sm_90, where one warp group (128 threads) loads tiles of A and B and `consumers` others multiply,
//   each its share of the tile's rows, 64 or 128.
//   mma and wgmma may have `raster = 8`: blocks take tiles in bands of eight rows of tiles, column by column, so that
//   those that run together read fewer rows and columns of operands that the second-level cache does not hold.
//   wgmma may have `in_turn = 4`: a block takes so many tiles one after the other, those whose numbers are the grid's
//   size apart, and loads the next tile's operands while it stores.
//   wgmma may have `cluster = 2`: so many blocks, whose tiles lie under each other, load a part of B's tile each, for
//   all.
// fma: a block computes a tile (M, N; K at a time) of a product of any type, each thread a smaller tile in registers.
// attention: a block has rows of queries of one head, 16 for each warp, and walks over so many keys at a time. In its
//   gradient some blocks have rows of keys, and walk over queries. With `consumers` on sm_90: one warp group loads, and
//   each of the others has 64 rows, by wgmma.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_SCHEDULE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_SCHEDULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cuda {

inline constexpr int64_t warpSize = 32, warpGroupSize = 128;

struct Schedule {
  enum class Kind { Elements, Rows, Scatter, Mma, Wgmma, Fma, Attention };
  Kind kind = Kind::Elements;
  int64_t threads = 256; ///< of a block
  int64_t vector = 1;    ///< elements that lie side by side and are one thread's
  int64_t group = 32;    ///< threads of a block that share a row: a warp, or all of them
  bool turned = false;   ///< of rows: the lanes of a warp have neighbouring rows, its warps share them
  // Of mma, wgmma and fma:
  int64_t m = 0, n = 0, k = 0;    ///< of a block's tile
  int64_t warpsM = 0, warpsN = 0; ///< that share it, for mma
  int64_t consumers = 0;          ///< warp groups that share it, for wgmma; of attention 0: mma.sync
  int64_t tileM = 0, tileN = 0;   ///< of a thread, for fma
  int64_t raster = 1;  ///< of mma and wgmma: rows of tiles that blocks with neighbouring numbers take column by column
  int64_t inTurn = 1;  ///< of wgmma: tiles that a block takes one after the other
  int64_t cluster = 1; ///< of wgmma: blocks that load B's tile together; of rows: blocks that share a row
  // Of mma, wgmma and, without k, of attention:
  int64_t stages = 0; ///< tiles of A and B, or of keys and values, in shared memory
};

void setSchedule(mlir::func::FuncOp kernel, const Schedule &schedule);
/// Null where the kernel has none, or one that is not the tenant's; the kernel's error says so.
std::optional<Schedule> getSchedule(mlir::func::FuncOp kernel);

} // namespace tilewright::cuda

#endif
