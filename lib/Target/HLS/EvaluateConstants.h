//===- EvaluateConstants.h - kernels of constants, carried out while compiling ---------------===//
#ifndef TILEWRIGHT_TARGET_HLS_EVALUATECONSTANTS_H
#define TILEWRIGHT_TARGET_HLS_EVALUATECONSTANTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright::hls {

using KnownTensors = llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr>;

/// The result of `op` where all that it reads is in `known`: of integers that are added, subtracted, multiplied and
/// converted, or of elements of any type that are only moved. Null: it does something else.
mlir::DenseElementsAttr evaluateGeneric(mlir::linalg::GenericOp op, const KnownTensors &known);

/// What `op` fills a tensor with, an integer that is a constant; null otherwise.
mlir::DenseElementsAttr evaluateFill(mlir::linalg::FillOp op);

} // namespace tilewright::hls

#endif
