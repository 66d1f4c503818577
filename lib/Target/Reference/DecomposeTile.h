//===- DecomposeTile.h - tw_tile ops in terms of simpler ones -------------------//
#ifndef TILEWRIGHT_TARGET_REFERENCE_DECOMPOSETILE_H
#define TILEWRIGHT_TARGET_REFERENCE_DECOMPOSETILE_H

#include "dialects/Tile/Tile.h"
#include "mlir/IR/Builders.h"

namespace tilewright::reference {

/// Attention over the whole score matrix: contraction, row softmax, contraction. Results as the op's.
llvm::SmallVector<mlir::Value> decomposeAttention(mlir::OpBuilder &b, tile::AttentionOp op);
llvm::SmallVector<mlir::Value> decomposeAttentionGradient(mlir::OpBuilder &b, tile::AttentionGradientOp op);

} // namespace tilewright::reference

#endif
