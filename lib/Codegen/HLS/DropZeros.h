//===- DropZeros.h - remove multiplications by zeros from kernels --------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_DROPZEROS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_DROPZEROS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Removes operands that are integer zeros in every call from kernels of @main, and the values multiplied by them.
void dropZeros(mlir::func::FuncOp main);

} // namespace tilewright::hls

#endif
