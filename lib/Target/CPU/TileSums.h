//===- TileSums.h - what kernels share that add to C block of k by block of k ---------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_TILESUMS_H
#define TILEWRIGHT_LIB_TARGET_CPU_TILESUMS_H

#include "lib/Target/CPU/MicroKernel.h"

namespace tilewright::cpu {

/// Replaces C's vectors in `count` rows from `first` on and all panels by what `of` makes of them and of zero.
void overSums(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::Value first,
              mlir::Value count, int64_t panel, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> of);
/// Makes them zero.
void clearSums(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::Value first,
               mlir::Value count, int64_t panel);

/// `body` for the rows in blocks of at most `most`, which is told the first row of one, how many there are, and how
/// many at most.
void overRowBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult rows, int64_t most,
                   llvm::function_ref<void(mlir::Value, mlir::OpFoldResult, int64_t)> body);

} // namespace tilewright::cpu

#endif
