//===- Rows.h - which structured ops can be tiled together ---------------------===//
//
// A cluster is a set of structured ops that one kernel executes tile by tile. Its last op is the anchor. The rows of
// the cluster are leading dimensions of the anchor's first result. Along each row, every member can be tiled in such a
// way that it computes only its own tile. A member reads dimensions other than its rows as a whole.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_ROWS_H
#define TILEWRIGHT_DIALECTS_TILE_ROWS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::tile {

/// The rows of a cluster: for each member, the row (a dimension of the anchor's result) that each of its loops iterates
/// over, or -1 for an untiled loop.
struct RowMap {
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> rowOfLoop;
  int64_t numRows = 0;
};

/// Returns the rows of `members`, which are linalg ops and tileable tw_tile ops in program order, the anchor last. If
/// the members cannot be tiled together, returns nullopt and sets the reason.
std::optional<RowMap> computeRows(llvm::ArrayRef<mlir::Operation *> members, std::string &reason);

/// Returns the map from the loops (numLoops()) of the op that has `operand` to the operand's elements. The op is a
/// linalg op or a tileable tw_tile op. A dimension that a tw_tile op reads as a whole is the constant 0. A null map
/// means that the op cannot be tiled.
mlir::AffineMap operandMap(mlir::OpOperand &operand);
/// Returns the map from the loops of the op to the elements of `result`, as operandMap() does for an operand.
mlir::AffineMap resultMap(mlir::OpResult result);
/// Returns the number of loops of a linalg op, or of the loops along which a tw_tile op can be tiled in a cluster. The
/// latter is 0 for pack, scan, sort and scatter.
int64_t numLoops(mlir::Operation *op);

/// Returns true for a contraction, a convolution, or the gradient of a depthwise convolution's weight. Kernel formation
/// limits the number of these ops in a kernel.
bool isContractionRoot(mlir::Operation *op);

/// Returns a name of `op` for messages: the tw op it was lowered from, or its own name.
std::string describe(mlir::Operation *op);

} // namespace tilewright::tile

#endif
