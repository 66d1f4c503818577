//===- TileSums.h - helpers for kernels that accumulate in C over K-blocks ------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_TILESUMS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_TILESUMS_H

#include "lib/Codegen/CPU/MicroKernels/MicroKernel.h"

namespace tilewright::cpu {

/// Replaces each vector of C by of(vector, zero), in all panels of `count` rows, starting at row `first`.
void overSums(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::Value first,
              mlir::Value count, int64_t panel, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> of);
/// Sets each vector of C to zero, in all panels of `count` rows, starting at row `first`.
void clearSums(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::Value first,
               mlir::Value count, int64_t panel);

/// Emits `body` for blocks of at most `most` rows. The arguments of `body` are the first row of the block, the number
/// of rows, and an upper bound of this number that is known at compile time.
void overRowBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult rows, int64_t most,
                   llvm::function_ref<void(mlir::Value, mlir::OpFoldResult, int64_t)> body);

} // namespace tilewright::cpu

#endif
