//===- MathWithCode.h - ops of the math dialect that can be lowered ---------------------===//
//
// This is the list of ops of the math dialect that need no polynomial. --tw-cuda-select-schedule uses the list to
// report unsupported ops with the user's source line. --tw-cuda-lower-to-nvvm uses the list to report an op that NVPTX
// cannot select, because NVPTX would end the process.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_MATHWITHCODE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_MATHWITHCODE_H

#include "mlir/Dialect/Math/IR/Math.h"

namespace tilewright::gpu {

/// Returns true if `op` can be lowered for scalar floats of any width without a polynomial of --tw-expand-math, which
/// has polynomials of scalars only for f32. NVPTX selects such an op, or --tw-cuda-lower-to-nvvm expands the op to ops
/// that NVPTX selects.
inline bool hasCodeOfItsOwn(mlir::Operation *op) {
  using namespace mlir::math;
  return llvm::isa<SqrtOp, RsqrtOp, FmaOp, AbsFOp, CopySignOp, FloorOp, CeilOp, RoundOp, RoundEvenOp, TruncOp, IsNaNOp,
                   IsInfOp, IsFiniteOp, IsNormalOp>(op);
}

} // namespace tilewright::gpu

#endif
