//===- DropZeros.h - kernels that multiply by zeros -------------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_DROPZEROS_H
#define TILEWRIGHT_TARGET_HLS_DROPZEROS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Kernels of @main that every call gives integers of zero do without them, and without what they are multiplied by.
void dropZeros(mlir::func::FuncOp main);

} // namespace tilewright::hls

#endif
