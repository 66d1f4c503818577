//===- DecomposeTile.h - decompose tw_tile ops into simpler ones -------------===//
#ifndef TILEWRIGHT_LIB_KERNELS_DECOMPOSETILE_H
#define TILEWRIGHT_LIB_KERNELS_DECOMPOSETILE_H

#include "dialects/Tile/Tile.h"
#include "mlir/IR/Builders.h"

namespace tilewright::reference {

/// Emits attention over the whole score matrix: contraction, row softmax, contraction. The results are those of the op.
llvm::SmallVector<mlir::Value> decomposeAttention(mlir::OpBuilder &b, tile::AttentionOp op);
llvm::SmallVector<mlir::Value> decomposeAttentionGradient(mlir::OpBuilder &b, tile::AttentionGradientOp op);

} // namespace tilewright::reference

#endif
