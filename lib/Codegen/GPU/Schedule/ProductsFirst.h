//===- ProductsFirst.h - order the ops of kernels with a product ----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PRODUCTSFIRST_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PRODUCTSFIRST_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// In each kernel with a product, moves all ops before the product that do not contribute to its operands after the
/// product. They are then ops of the epilogue for matchContraction().
void placeProductsFirst(mlir::ModuleOp module);

} // namespace tilewright::gpu

#endif
