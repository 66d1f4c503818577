//===- WarpGroupGradient.h - the gradient of attention by warp groups, with TMA and wgmma -------===//
//
// This schedule computes the gradient of attention of bf16 or f16. Each consumer warp group owns 64 rows of keys or of
// queries. The operands have tensor maps like those of WarpGroupAttention.h, whose boxes have `n` rows. The block's own
// rows are loaded in several of these boxes.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WARPGROUPGRADIENT_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WARPGROUPGRADIENT_H

#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupAttention.h"

namespace tilewright::gpu {

/// The layout of a block's shared memory: the own rows of both operands, then the slots, then the mbarriers. Index 0 of
/// the arrays is for rows of the head size, and index 1 for rows of the value size.
struct WarpGroupGradientTiles {
  WarpGroupGradientTiles(const Schedule &schedule, const AttentionGradient &gradient);
  HeadTile own[2], other[2];
  int64_t ownOffsets[2], otherOffsets[2]; ///< offsets of the tiles in the shared memory, and in a slot
  int64_t statistics;                     ///< offset in a slot: f32 bases of all rows, then deltas of all rows
  int64_t slots, slotBytes;               ///< offset of the first slot; size of a slot
  int64_t barriers;                       ///< offset of the mbarriers
  int64_t bytes;                          ///< total size
};

/// The operands that TMA loads, in the order of their maps.
inline constexpr AttentionGradient::Operand gradientMaps[] = {AttentionGradient::Query, AttentionGradient::Key,
                                                              AttentionGradient::Value, AttentionGradient::Grad};

/// Returns a schedule with `consumers` consumer warp groups; 0 selects their number.
Schedule chooseWarpGroupGradient(const AttentionGradient &gradient, int64_t sharedBytes, int64_t consumers = 0);
/// Returns the reason why the schedule cannot be emitted with this much shared memory, or an empty string if it can.
std::string whyNotWarpGroupGradient(const Schedule &schedule, const AttentionGradient &gradient, int64_t sharedBytes);

} // namespace tilewright::gpu

#endif
