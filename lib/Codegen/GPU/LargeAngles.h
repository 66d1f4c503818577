//===- LargeAngles.h - sine, cosine and tangent of large angles ---------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_LARGEANGLES_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_LARGEANGLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::gpu {

/// Expands each math.sin, math.cos and math.tan of f64 whose operand is extended from f32, to integer arithmetic and
/// polynomials. The magnitude of the operand must be at least 2. The error is at most 1e-9. For tan, and near zeros of
/// the function, the error is relative to the result. The result for infinities and NaN is NaN. --tw-expand-math does
/// not expand these ops.
void expandLargeAngles(mlir::func::FuncOp kernel);

} // namespace tilewright::gpu

#endif
