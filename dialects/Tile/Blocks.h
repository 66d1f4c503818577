//===- Blocks.h - block sizes shared by schedule selection and code generation -------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_BLOCKS_H
#define TILEWRIGHT_DIALECTS_TILE_BLOCKS_H

#include <cstdint>

namespace tilewright::tile {

/// If the matrix unit of the machine multiplies bf16 but not f16, the operands of f16 products are split into two parts
/// of bf16 (SplitKernel.h). A product with at most this number of rows is computed in f32 instead, because splitting B
/// would take longer.
inline constexpr int64_t rowsNotSplit = 8;

/// The default number of keys per block of attention: scores are computed for one block of rows and keys at a time.
inline constexpr int64_t attentionKeys = 512;

/// The default number of rows per block of attention scores, which is the number of rows of two tiles of the matrix
/// unit.
inline constexpr int64_t attentionRows = 32;

} // namespace tilewright::tile

#endif
