//===- ScatterRows.h - a scatter of whole rows --------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCATTERROWS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCATTERROWS_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::gpu {

/// A dimension of the destination is `direct` if a loop of the source indexes it, and has its size. The other dimensions
/// are `searched`: most of them are determined by the index tensors. The loops of the source that index no direct
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
