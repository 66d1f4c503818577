//===- DropZeros.h - remove multiplications by zeros from kernels --------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_DROPZEROS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_DROPZEROS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// If an argument of a kernel is an integer tensor of zeros in every call in @main, replaces its elements by zeros in
/// the kernel's linalg.generic ops, and removes the products with these zeros. Also removes the arguments and results
/// of kernels, and the ops in @main, that become unused.
void dropZeros(mlir::func::FuncOp main);

} // namespace tilewright::hls

#endif
