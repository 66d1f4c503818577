//===- PackPanels.h - tw_tile.pack as vector code ----------------------------------===//
//
// out[b, p, inner, k / g, j * g + k % g] = in[b, inner, k, p * panel + j], zero where there is no such element; g =
// group.
//
// Two ways to move whole vectors, and a scalar one for the rest:
//   columns contiguous: load `g` rows of a vector of columns, interleave, store;
//   k contiguous: load a vector of units of k (one f32, a pair of bf16, two or four bytes) for each of `lanes` columns,
//   transpose the square in registers, store `lanes` rows.
// In a tile the input begins with the tile's first column.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_PACKPANELS_H
#define TILEWRIGHT_LIB_TARGET_CPU_PACKPANELS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::cpu {

/// Replaces `pack`, on buffers, by loops over vectors of `lanes` 32-bit elements.
void expandPack(tile::PackOp pack, int64_t lanes);

/// Transposes as many vectors as one has lanes, a power of two, in registers (Eklundh: in round s, lanes with bit s of
/// rows i and i + s change places).
void transposeSquare(mlir::OpBuilder &builder, mlir::Location loc, llvm::MutableArrayRef<mlir::Value> rows);

} // namespace tilewright::cpu

#endif
