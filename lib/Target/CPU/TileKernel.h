//===- TileKernel.h - products on AMX tiles --------------------------------------===//
//
// C[rows, panel] = sum over the reduction loops of A[row, r...] * B[r..., panel] for bf16 operands, B in pairs of k
// (group = 2) padded with zeros to a multiple of 32 k, or for signed bytes, B in fours (group = 4) padded to 64 k. A
// block of 32 rows x 32 columns is four accumulator tiles, two tiles of A and two of B: all eight tile registers. A is
// read as it lies, by the row stride of its tile loads, where its k are contiguous; rows, columns and k that do not
// fill a tile go through a zeroed pad on the stack.
//
// Long sums run in blocks of about `tileReductionBytes` of k around the panels, so that a block of B stays in the
// first-level cache while A streams by from the second; between blocks the accumulators rest in C.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_TILEKERNEL_H
#define TILEWRIGHT_LIB_TARGET_CPU_TILEKERNEL_H

#include "lib/Target/CPU/MicroKernel.h"

namespace tilewright::cpu {

/// A tile's row: 32 k of bf16, 64 of bytes.
inline constexpr int64_t tileRowBytes = 64;
inline constexpr int64_t tileRows = 16, tileColumns = 16;
inline constexpr int64_t tileReductionBytes = 512;

/// Rows of the tiles of A and C: 16, or where that leaves a rest, a number from 12 on that leaves none (the images of
/// a ResNet are multiples of 14 wide), or all rows where they are fewer. All tiles of A in a kernel have as many: one
/// tile configuration serves it (with tiles of two shapes LLVM 22 runs out of registers); products that would differ
/// have 16.
int64_t rowsOfTiles(mlir::OpFoldResult rows);

/// Emits the product of `rows` rows from row 0 on with all panels; `panel` is 16 or 32 columns. The first row that
/// access.rowsDone was not called for; null where it never was.
mlir::Value emitTilePanels(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access,
                           mlir::OpFoldResult rows, int64_t panel);

/// Adds to C the product of `rows` rows with all panels; the reduction is a multiple of a tile's depth, and `rows` and
/// a block of rows beyond them can be read.
void addTiles(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
              int64_t panel);

/// Adds to C the product of numbers that are sums of two (SplitKernel.h): of each 64 k of access.lhs 32 are high parts
/// and 32 low ones, and so it is with the rows of access.rhs. `rows` and a block of rows beyond them can be read.
void addSplitTiles(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
                   int64_t panel);

} // namespace tilewright::cpu

#endif
