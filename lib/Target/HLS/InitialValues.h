//===- InitialValues.h - sums that begin with their first term ---------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_INITIALVALUES_H
#define TILEWRIGHT_TARGET_HLS_INITIALVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// On a linalg op that accumulates: what its result holds before the first iteration. The array need not be filled.
inline constexpr llvm::StringLiteral initialAttrName = "tw_hls.initial";

/// Every fill whose array goes into one accumulating op next is erased, and that op has its value as `tw_hls.initial`:
/// a nest over the whole array less.
void absorbFills(mlir::func::FuncOp kernel);

} // namespace tilewright::hls

#endif
