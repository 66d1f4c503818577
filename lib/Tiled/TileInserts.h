//===- TileInserts.h - kernels that put tensors beside each other ----------------===//
#ifndef TILEWRIGHT_LIB_TILED_TILEINSERTS_H
#define TILEWRIGHT_LIB_TILED_TILEINSERTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tilewright::tiled {

/// What a kernel does that is a concatenation, a padding, or a tensor with slices put into it.
struct InsertChain {
  mlir::Value base;                            ///< what is put into; null where nothing of it is left
  llvm::SmallVector<mlir::Operation *> pieces; ///< tensor.insert_slice or one tensor.pad, in order
  llvm::SmallVector<mlir::AffineExpr> sizes;   ///< of the result
  llvm::SmallBitVector shared;                 ///< the dimensions that every piece has the whole of
  mlir::Value result() const { return pieces.back()->getResult(0); }
};

/// The chain that `kernel` is, if it is one, with what makes its pieces element by element, and nothing else.
std::optional<InsertChain> insertChainOf(mlir::func::FuncOp kernel);

/// Cuts it into tasks: `tiles` has a size for each dimension of the result, 0 where it is whole, as it is in those that
/// are not shared. Fails where what makes a piece cannot be cut.
mlir::LogicalResult tileInserts(mlir::func::FuncOp kernel, const InsertChain &chain, llvm::ArrayRef<int64_t> tiles);

} // namespace tilewright::tiled

#endif
