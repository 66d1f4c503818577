//===- ScanLoops.h - running sums and extremes as loops ---------------------------===//
#ifndef TILEWRIGHT_LIB_VECTOR_SCANLOOPS_H
#define TILEWRIGHT_LIB_VECTOR_SCANLOOPS_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilewright::vector_stage {

/// The reduction that a scan of such a kind does, of numbers of `element`.
mlir::arith::AtomicRMWKind reductionOf(tile::ScanKind kind, mlir::Type element);

/// Replaces a scan on buffers by loops.
void expandScan(tile::ScanOp scan);

} // namespace tilewright::vector_stage

#endif
