//===- InitialValues.h - sums that begin with their first term ---------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_INITIALVALUES_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_INITIALVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Attribute of a linalg op that accumulates: the value of its result before the first iteration. With this attribute,
/// the array need not be filled.
inline constexpr llvm::StringLiteral initialAttrName = "tw_hls.initial";

/// Erases every fill whose array is next used by one accumulating op, and sets `tw_hls.initial` of that op to the
/// filled value. This saves a nest over the whole array.
void absorbFills(mlir::func::FuncOp kernel);

} // namespace tilewright::hls

#endif
