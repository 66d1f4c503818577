//===- RowProducer.h - finds the op whose rows only a scatter reads -------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_ROWPRODUCER_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_ROWPRODUCER_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::vector_stage {

/// Returns true if the last dimension of `type` is contiguous.
bool hasDenseRows(mlir::MemRefType type);

/// Returns the op (on buffers) that computes the source of `scatter` from operands with dense rows. If this op is fused
/// with the scatter, the source need not be stored. Returns null if there is no such op, if another op reads the
/// source, or if the op reads the output of `scatter`.
mlir::linalg::GenericOp rowProducerOf(tile::ScatterOp scatter);

} // namespace tilewright::vector_stage

#endif
