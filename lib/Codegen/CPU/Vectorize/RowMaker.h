//===- RowMaker.h - finds the op whose rows only a scatter reads -------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_ROWMAKER_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_ROWMAKER_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::vector_stage {

/// Returns true if the last dimension is contiguous.
bool hasDenseRows(mlir::MemRefType type);

/// Returns the op that computes the source, on buffers, for this scatter alone, from operands with dense rows: its
/// result need not be stored. Null if there is no such op.
mlir::linalg::GenericOp rowMakerOf(tile::ScatterOp scatter);

} // namespace tilewright::vector_stage

#endif
