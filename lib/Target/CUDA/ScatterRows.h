//===- ScatterRows.h - a scatter of whole rows --------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_SCATTERROWS_H
#define TILEWRIGHT_LIB_TARGET_CUDA_SCATTERROWS_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cuda {

/// Dimensions of the destination are searched for or said by a loop of the source (`direct`); the source's other loops
/// are `free`, and the index tensors depend on these alone.
struct ScatterRows {
  tile::ScatterOp op;
  llvm::SmallVector<unsigned> searched = {}, direct = {};
  llvm::SmallVector<unsigned> loopOfDirect = {}, free = {};
};

/// The kernel as one scatter of rows; null with the reason where it is none.
std::optional<ScatterRows> matchScatterRows(mlir::func::FuncOp kernel, std::string &reason);

} // namespace tilewright::cuda

#endif
