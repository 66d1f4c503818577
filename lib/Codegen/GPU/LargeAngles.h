//===- LargeAngles.h - sine, cosine and tangent of large angles ---------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_LARGEANGLES_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_LARGEANGLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cuda {

/// Expands math.sin, math.cos and math.tan of an f32 that was widened to f64 and has a magnitude of 2 or more to
/// integer arithmetic and polynomials. The error is at most 1e-9; it is relative for tan and near zeros of the
/// function. The result for infinities and NaN is NaN. --tw-expand-math leaves these ops to a library.
void expandLargeAngles(mlir::func::FuncOp kernel);

} // namespace tilewright::cuda

#endif
