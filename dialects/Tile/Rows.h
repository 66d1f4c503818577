//===- Rows.h - which structured ops can be tiled together ---------------------===//
//
// A cluster is a set of structured ops that one kernel executes tile by tile. Its anchor is its last op; the leading
// dimensions of the anchor's first result that can be cut into tiles, with every member computing just its own tile,
// are the cluster's rows. Everything a member needs beyond its rows it needs whole.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_ROWS_H
#define TILEWRIGHT_DIALECTS_TILE_ROWS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::tile {

/// The rows of a cluster: for each member, which row (a dimension of the anchor's result) each of its loops runs
/// over, or -1 for a loop that runs whole.
struct RowMap {
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> rowOfLoop;
  int64_t numRows = 0;
};

/// The rows of `members` (linalg ops in program order, the last one the anchor), or nothing with the reason why the
/// members cannot be tiled together.
std::optional<RowMap> computeRows(llvm::ArrayRef<mlir::Operation *> members, std::string &reason);

/// How `operand` of a linalg op or a tiled tw_tile op is read from the op's parallel and reduction loops; a dimension
/// that is read whole is a constant. An empty map: the op cannot be tiled.
mlir::AffineMap operandMap(mlir::OpOperand &operand);
/// The same for a result.
mlir::AffineMap resultMap(mlir::OpResult result);
/// Number of loops of such an op, 0 if it cannot be tiled.
int64_t numLoops(mlir::Operation *op);

/// A contraction or convolution: the root a kernel has at most one of.
bool isContractionRoot(mlir::Operation *op);

/// What to call `op` towards people: the tw op it came from, or its own name.
std::string describe(mlir::Operation *op);

} // namespace tilewright::tile

#endif
