//===- MathWithCode.h - what the math dialect has code for ------------------------------===//
//
// The one list that --tw-cuda-select-schedule refuses by, with the user's line, and --tw-cuda-lower-to-nvvm by, before
// NVPTX ends the process over an op that it cannot select.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_MATHWITHCODE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_MATHWITHCODE_H

#include "mlir/Dialect/Math/IR/Math.h"

namespace tilewright::cuda {

/// Whether a scalar op of floats of any width has code without a polynomial of --tw-cpu-expand-math, which is for f32:
/// NVPTX selects it, or --tw-cuda-lower-to-nvvm writes it with ops that NVPTX selects.
inline bool hasCodeOfItsOwn(mlir::Operation *op) {
  using namespace mlir::math;
  return llvm::isa<SqrtOp, RsqrtOp, FmaOp, AbsFOp, CopySignOp, FloorOp, CeilOp, RoundOp, RoundEvenOp, TruncOp, IsNaNOp,
                   IsInfOp, IsFiniteOp, IsNormalOp>(op);
}

} // namespace tilewright::cuda

#endif
