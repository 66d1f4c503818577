//===- EvaluateConstants.h - evaluate kernels of constants at compile time -------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_EVALUATECONSTANTS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_EVALUATECONSTANTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright::hls {

using KnownTensors = llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr>;

/// Returns the result of `op` if all operands that its body reads are in `known`. The body may add, subtract, multiply
/// and convert integers, or only copy elements. The elements must have 1 to 8 whole bytes. Returns null for other ops,
/// and for ops with more than 2^26 iterations.
mlir::DenseElementsAttr evaluateGeneric(mlir::linalg::GenericOp op, const KnownTensors &known);

/// Returns the result of `op` if the value that it fills in is a constant integer, and null otherwise.
mlir::DenseElementsAttr evaluateFill(mlir::linalg::FillOp op);

} // namespace tilewright::hls

#endif
