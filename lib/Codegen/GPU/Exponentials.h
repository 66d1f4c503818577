//===- Exponentials.h - exp by the GPU's ex2.approx -----------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_EXPONENTIALS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_EXPONENTIALS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::gpu {

/// Expands each math.exp of an f32 scalar to the formula in Exponentials.cpp, which uses ex2.approx.
void expandExponentials(mlir::func::FuncOp kernel);

} // namespace tilewright::gpu

#endif
