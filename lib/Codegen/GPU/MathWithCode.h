//===- MathWithCode.h - ops of the math dialect that can be lowered ---------------------===//
//
// This is the list of supported ops of the math dialect. --tw-cuda-select-schedule uses the list to report unsupported
// ops with the user's source line. --tw-cuda-lower-to-nvvm uses the list to report an op that NVPTX cannot select,
// because NVPTX would end the process.
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
