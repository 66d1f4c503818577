//===- LargeAngles.h - sine, cosine and tangent of large angles ---------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_LARGEANGLES_H
#define TILEWRIGHT_LIB_TARGET_CUDA_LARGEANGLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cuda {

/// math.sin, math.cos and math.tan of an f32 that has been widened to f64 and is 2 or more in magnitude become integer
/// arithmetic and polynomials: within 1e-9 of the exact value, relative for tan and near the zeros; NaN for infinities
/// and NaN. It is what --tw-cpu-expand-math leaves to a library.
void expandLargeAngles(mlir::func::FuncOp kernel);

} // namespace tilewright::cuda

#endif
