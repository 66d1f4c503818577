//===- IndexWidth.h - number of bits of the indices of a kernel -----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_INDEXWIDTH_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_INDEXWIDTH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cuda {

/// Returns true if the indices of all tensors, all loop counters, and all indices that the kernel computes from them
/// are in the range of signed 32-bit integers. This includes the indices of the last block's threads that are after the
/// last element. Returns false if indices are read from tensors, because such indices may have any value.
bool fitsInt32(mlir::func::FuncOp kernel);

} // namespace tilewright::cuda

#endif
