//===- MathWithCode.h - ops of the math dialect that can be lowered ---------------------===//
//
// --tw-cuda-select-schedule uses this list to report unsupported ops with the user's line. --tw-cuda-lower-to-nvvm uses
// it to report them before NVPTX ends the process at an op that it cannot select.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_MATHWITHCODE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_MATHWITHCODE_H

#include "mlir/Dialect/Math/IR/Math.h"

namespace tilewright::cuda {

/// Returns true if a scalar float op of any width can be lowered without a polynomial of --tw-expand-math, which
/// supports only f32: NVPTX selects it, or --tw-cuda-lower-to-nvvm expands it to ops that NVPTX selects.
inline bool hasCodeOfItsOwn(mlir::Operation *op) {
  using namespace mlir::math;
  return llvm::isa<SqrtOp, RsqrtOp, FmaOp, AbsFOp, CopySignOp, FloorOp, CeilOp, RoundOp, RoundEvenOp, TruncOp, IsNaNOp,
                   IsInfOp, IsFiniteOp, IsNormalOp>(op);
}

} // namespace tilewright::cuda

#endif
