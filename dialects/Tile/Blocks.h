//===- Blocks.h - block sizes shared by schedule selection and code generation -------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_BLOCKS_H
#define TILEWRIGHT_DIALECTS_TILE_BLOCKS_H

#include <cstdint>

namespace tilewright::tile {

/// The maximum number of rows for which a product of f16 on bf16 tiles is computed in f32, because splitting B would
/// take longer.
inline constexpr int64_t rowsNotSplit = 8;

/// The number of keys for which attention computes scores at a time.
inline constexpr int64_t attentionKeys = 512;

/// The number of rows for which attention computes scores at a time, which are two tiles of the matrix unit.
inline constexpr int64_t attentionRows = 32;

} // namespace tilewright::tile

#endif
