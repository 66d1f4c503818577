//===- DropZeros.h - remove multiplications by zeros from kernels --------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_DROPZEROS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_DROPZEROS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Removes each operand of linalg.generic ops that is an integer tensor of zeros in every call of a kernel in @main.
/// The products with this operand, and the calls whose results become unused, are also removed.
void dropZeros(mlir::func::FuncOp main);

} // namespace tilewright::hls

#endif
