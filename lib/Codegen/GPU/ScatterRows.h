//===- ScatterRows.h - a scatter of whole rows --------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCATTERROWS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCATTERROWS_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::gpu {

/// A dimension of the destination is `direct` if it is indexed by a loop of the source that has the same size, and no
/// index tensor depends on this loop. The other dimensions are `searched`, and their indices select a row. Index
/// tensors determine most of them; a loop of the same size, on which an index tensor depends, determines a `batch`
/// dimension. The loops of the source that index neither a direct nor a batch dimension are `free`.
struct ScatterRows {
  tile::ScatterOp op;
  llvm::SmallVector<unsigned> searched = {}, direct = {}, batch = {};
  llvm::SmallVector<unsigned> loopOfDirect = {}, loopOfBatch = {}, free = {};
};

/// Returns the scatter of rows that computes the only result of `kernel`. Otherwise returns std::nullopt and sets the
/// reason.
std::optional<ScatterRows> matchScatterRows(mlir::func::FuncOp kernel, std::string &reason);

} // namespace tilewright::gpu

#endif
