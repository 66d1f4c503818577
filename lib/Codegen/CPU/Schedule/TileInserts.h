//===- TileInserts.h - tiling of concatenations and paddings ---------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_TILEINSERTS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_TILEINSERTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tilewright::tiled {

/// A kernel that is a concatenation, a padding, or an insertion of slices into a tensor.
struct InsertChain {
  mlir::Value base;                            ///< destination of the pieces; null if uninitialized or for a padding
  llvm::SmallVector<mlir::Operation *> pieces; ///< tensor.insert_slice ops in order, or one tensor.pad
  llvm::SmallVector<mlir::AffineExpr> sizes;   ///< sizes of the result
  llvm::SmallBitVector shared;                 ///< the dimensions in which every piece covers the whole result
  mlir::Value result() const { return pieces.back()->getResult(0); }
};

/// Returns the chain of insertions if `kernel` has no other ops except the elementwise producers of the inserted pieces
/// and the fill of the base. Returns std::nullopt otherwise, or if the value of a padding is not a constant.
std::optional<InsertChain> insertChainOf(mlir::func::FuncOp kernel);

/// Tiles the chain into tasks. `tiles` has a size for each dimension of the result. A size of 0 means that the
/// dimension is not tiled, and is required for dimensions that are not `shared`. Fails if the producer of a piece
/// cannot be tiled.
mlir::LogicalResult tileInserts(mlir::func::FuncOp kernel, const InsertChain &chain, llvm::ArrayRef<int64_t> tiles);

} // namespace tilewright::tiled

#endif
