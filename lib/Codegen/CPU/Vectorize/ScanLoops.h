//===- ScanLoops.h - lowers running sums and maxima to loops ----------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_SCANLOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_SCANLOOPS_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilewright::vector_stage {

/// Returns the reduction of a scan of this kind, for numbers of type `element`.
mlir::arith::AtomicRMWKind reductionOf(tile::ScanKind kind, mlir::Type element);

/// Replaces a scan on buffers by loops.
void expandScan(tile::ScanOp scan);

} // namespace tilewright::vector_stage

#endif
