//===- WarpGroupAttention.h - attention by warp groups, with TMA and wgmma ----------------===//
//
// This schedule computes attention of bf16 or f16 with queries, keys and values that TMA can load in boxes. A box has
// 64 columns of the rows of a tile of one head. Each of the four dimensions of an operand is a dimension of its tensor
// map, in the order of memory. For example:
//
//   K: tensor<2x4x300x80xbf16>, (b, h, row, column)  ->  a map of (80, 300, 4, 2), two boxes of 64 x 128 x 1 x 1
//
// Elements after the end of a row, and rows after the last row of a head, are loaded as zeros.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WARPGROUPATTENTION_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WARPGROUPATTENTION_H

#include "lib/Codegen/GPU/Schedule/Attention.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"

namespace tilewright::gpu {

/// A tile of rows of a head in shared memory. It consists of consecutive boxes, whose lines have 64 elements.
struct HeadTile {
  int64_t rows, boxes;
  int64_t boxBytes() const { return rows * lineBytes; }
  int64_t bytes() const { return boxes * boxBytes(); }
};

/// Returns the tile of queries of a block, or of keys or values of a step.
HeadTile tileOfHead(const Schedule &schedule, const Attention &attention, Attention::Operand operand);
/// Returns the total size in bytes: queries, `stages` times keys and values, and the mbarriers.
int64_t bytesOfWarpGroups(const Schedule &schedule, const Attention &attention);

/// Returns the recipe of a map of `tensor`, a kernel's argument of rank 4, for boxes of `rows` rows of a head. The rows
/// are the tensor's dimension `rowDim`, and the columns its last dimension. If TMA cannot load the tensor, returns
/// std::nullopt and sets `reason`.
std::optional<TensorMapRecipe> recipeOfHeads(mlir::Value tensor, int64_t rowDim, int64_t rows, std::string &reason);
/// Returns the recipe of an operand's map for boxes of `rows` rows.
inline std::optional<TensorMapRecipe> recipeOf(const Attention &attention, Attention::Operand operand, int64_t rows,
                                               std::string &reason) {
  mlir::Value tensor = attention.op.getInputs()[operand];
  return recipeOfHeads(tensor, attention.position(operand, 2), rows, reason);
}

/// Returns a schedule with `consumers` consumer warp groups. 0 selects one group if there are known to be at most 64
/// queries, and otherwise two groups.
Schedule chooseWarpGroupAttention(const Attention &attention, int64_t sharedBytes, int64_t consumers = 0);
/// Returns the reason why the warp groups of the schedule cannot compute attention or its gradient, with 64 rows for
/// each consumer, or an empty string if they can.
std::string whyNotConsumers(const Schedule &schedule);
/// Returns the reason why the schedule cannot be emitted with this much shared memory, or an empty string if it can.
std::string whyNotWarpGroupAttention(const Schedule &schedule, const Attention &attention, int64_t sharedBytes);

} // namespace tilewright::gpu

#endif
