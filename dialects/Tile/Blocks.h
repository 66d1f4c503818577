//===- Blocks.h - sizes that the choice of a schedule and what carries it out agree on -----===//
#ifndef TILEWRIGHT_DIALECTS_TILE_BLOCKS_H
#define TILEWRIGHT_DIALECTS_TILE_BLOCKS_H

#include <cstdint>

namespace tilewright::tile {

/// A product of f16 on tiles of bf16 with at most so many rows multiplies in f32: to split B takes longer.
inline constexpr int64_t rowsNotSplit = 8;

/// Attention computes scores of so many keys at a time,
inline constexpr int64_t attentionKeys = 512;

/// and of so many rows: two tiles of the matrix unit.
inline constexpr int64_t attentionRows = 32;

} // namespace tilewright::tile

#endif
