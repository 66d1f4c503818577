//===- RowMaker.h - the op whose rows only a scatter reads -------------------------===//
#ifndef TILEWRIGHT_LIB_VECTOR_ROWMAKER_H
#define TILEWRIGHT_LIB_VECTOR_ROWMAKER_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::vector_stage {

/// Whether neighbours in the last dimension are neighbours in memory.
bool hasDenseRows(mlir::MemRefType type);

/// What makes the source, on buffers, for this scatter alone, from operands whose rows are dense: it need not be
/// stored. Null where there is no such op.
mlir::linalg::GenericOp rowMakerOf(tile::ScatterOp scatter);

} // namespace tilewright::vector_stage

#endif
