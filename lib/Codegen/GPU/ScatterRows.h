//===- ScatterRows.h - a scatter of whole rows --------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCATTERROWS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCATTERROWS_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::gpu {

/// A dimension of the destination is `direct` if it is indexed by a loop of the source that has the same size. The
/// other dimensions are `searched`; index tensors determine most of them. The loops of the source that index no direct
/// dimension are `free`. The index tensors depend only on free loops.
struct ScatterRows {
  tile::ScatterOp op;
  llvm::SmallVector<unsigned> searched = {}, direct = {};
  llvm::SmallVector<unsigned> loopOfDirect = {}, free = {};
};

/// Returns the scatter of rows that computes the only result of `kernel`. Otherwise returns std::nullopt and sets the
/// reason.
std::optional<ScatterRows> matchScatterRows(mlir::func::FuncOp kernel, std::string &reason);

} // namespace tilewright::gpu

#endif
