//===- TileKernel.h - products on AMX tiles --------------------------------------===//
//
// C[rows, panel] = sum over the reduction loops of A[row, r...] * B[r..., panel]. For bf16 and f16, B is packed in
// pairs along k (group = 2), and K is padded with zeros to a multiple of 32. For signed bytes, B is packed in groups of
// four along k (group = 4), and K is padded to a multiple of 64. A block of 32 rows x 32 columns uses all eight tile
// registers: four accumulators, two tiles of A and two of B. If A is contiguous along k, whole tiles of A are loaded in
// place, with A's row stride. Other parts of A are first copied to a buffer (pad) on the stack, in which missing
// elements are zero. Incomplete tiles of C are stored to a second pad, from which only the elements of C are copied.
//
// If there is only one reduction loop, a long sum is computed in K-blocks. A K-block contains about
// `tileReductionBytes` bytes of each row of A. The loop over panels is inside the loop over K-blocks: a block of B
// stays in the L1 cache while A is streamed from the L2 cache. Between K-blocks, C contains the accumulators.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_TILEKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_TILEKERNEL_H

#include "lib/Codegen/CPU/MicroKernels/MicroKernel.h"

namespace tilewright::cpu {

/// The size of a tile's row in bytes. A row of a tile of A contains 32 elements of 16 bits or 64 elements of 8 bits.
inline constexpr int64_t tileRowBytes = 64;
inline constexpr int64_t tileRows = 16, tileColumns = 16;
inline constexpr int64_t tileReductionBytes = 512;

/// Returns the number of rows of the tiles of A and C in a product of `rows` rows. If `rows` is from 1 to 15, the
/// result is `rows`. If `rows` is greater than 16 and not a multiple of 16, the result is the largest divisor of `rows`
/// from 12 to 15, if there is one (for example 14 for 28 or 56 rows). In all other cases, for example if `rows` is
/// unknown, the result is 16. All tiles of A in a kernel have the same number of rows, so that one tile configuration
/// suffices. If they had different numbers of rows, LLVM 22 would run out of tile registers. If the result differs
/// between the products of a kernel, all of them use 16.
int64_t rowsOfTiles(mlir::OpFoldResult rows);

/// Emits the product of `rows` rows from row 0 on with all panels. `panel`, the width of a panel, is 16 or 32 columns.
/// Returns the first row for which access.rowsDone was not called. Returns null if it was never called.
mlir::Value emitTilePanels(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access,
                           mlir::OpFoldResult rows, int64_t panel);

/// Adds the product of `rows` rows with all panels to C. The size of the reduction is a multiple of a tile's depth.
/// Rows up to the end of the last block of rows must be readable, even if they are not rows of A.
void addTiles(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
              int64_t panel);

/// Adds the product of operands that are split into high and low parts (SplitKernel.h) to C. Each row of access.lhs
/// alternates between 32 high parts and 32 low parts along k. access.rhs alternates in the same way, between 16 rows of
/// pairs of high parts and 16 rows of pairs of low parts. Rows up to the end of the last block of rows must be
/// readable, even if they are not rows of A.
void addSplitTiles(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
                   int64_t panel);

} // namespace tilewright::cpu

#endif
