//===- PackPanels.h - tw_tile.pack as vector code ----------------------------------===//
//
// out[b, p, inner, k / g, j * g + k % g] = in[b, inner, k, p * panel + j] with g = group; zero if `in` has no such
// element. The attribute `permutation` maps the dimensions (b, inner, k, column) to dimensions of `in`.
//
// If columns are contiguous, a vector of columns of each of `g` rows is loaded, and the vectors are interleaved and
// stored. If k is contiguous, a vector of units of k (16 or 32 bits, such as an f32, a pair of bf16 or four bytes) is
// loaded for each of `lanes` columns. This square is transposed in registers, and stored as `lanes` rows. Other layouts
// and units, and panels whose width is not a multiple of `lanes`, are packed element by element. If a task packs only
// the columns of its tile, `in` is a view that starts at the tile's first column.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_PACKPANELS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_PACKPANELS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::cpu {

/// Replaces `pack`, whose operands are buffers, by loops. `lanes` is the number of columns that are packed at a time.
void expandPack(tile::PackOp pack, int64_t lanes);

/// Transposes a square of vectors in registers. The number of vectors is the number of lanes, a power of two. In round
/// s = 1, 2, 4, ... of Eklundh's algorithm, lane j + s of row i is exchanged with lane j of row i + s, for all i and j
/// without bit s.
void transposeSquare(mlir::OpBuilder &builder, mlir::Location loc, llvm::MutableArrayRef<mlir::Value> rows);

} // namespace tilewright::cpu

#endif
