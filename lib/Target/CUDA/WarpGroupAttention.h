//===- WarpGroupAttention.h - attention that warp groups take, with TMA and wgmma ---------===//
//
// Attention of bf16 or f16 whose queries, keys and values TMA can load in boxes of 64 numbers of a head and as many
// rows as a tile has: each of the four dimensions is one of the map, in the order that memory has, as in
//
//   K: tensor<2x4x300x80xbf16>, (b, h, row, column)  ->  a map of (80, 300, 4, 2), two boxes of 64 x 128 x 1 x 1
//
// What lies behind a row's last number or a head's last row is zeros.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_WARPGROUPATTENTION_H
#define TILEWRIGHT_LIB_TARGET_CUDA_WARPGROUPATTENTION_H

#include "lib/Target/CUDA/Attention.h"
#include "lib/Target/CUDA/WarpGroupProduct.h"

namespace tilewright::cuda {

/// A tile of rows of a head in shared memory: boxes of lines of 64 numbers, one behind the other.
struct HeadTile {
  int64_t rows, boxes;
  int64_t boxBytes() const { return rows * lineBytes; }
  int64_t bytes() const { return boxes * boxBytes(); }
};

/// The tile of queries of a block, or of keys or values of a step.
HeadTile tileOfHead(const Schedule &schedule, const Attention &attention, Attention::Operand operand);
/// All of them: queries, `stages` times keys and values, and the mbarriers.
int64_t bytesOfWarpGroups(const Schedule &schedule, const Attention &attention);

/// The recipe of an operand's map for boxes of so many rows; null with the reason.
std::optional<TensorMapRecipe> recipeOf(const Attention &attention, Attention::Operand operand, int64_t rows,
                                        std::string &reason);

/// A schedule with so many `consumers`, or, of 0, as many as its rows fill.
Schedule chooseWarpGroupAttention(const Attention &attention, int64_t sharedBytes, int64_t consumers = 0);
/// Why it cannot be emitted on such a block; empty: it can.
std::string whyNotWarpGroupAttention(const Schedule &schedule, const Attention &attention, int64_t sharedBytes);

} // namespace tilewright::cuda

#endif
