//===- InitialValues.h - initial values of accumulations ---------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_INITIALVALUES_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_INITIALVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// The attribute of an accumulating linalg op that specifies the value of its result before the first iteration. With
/// this attribute, the array of the result need not be filled.
inline constexpr llvm::StringLiteral initialAttrName = "tw_hls.initial";

/// Erases every linalg.fill that fills an array with a constant, if the array has no views and the next op that uses it
/// accumulates into this array only. Sets `tw_hls.initial` of that op to the constant. The design then needs no loop
/// nest to fill the array.
void absorbFills(mlir::func::FuncOp kernel);

} // namespace tilewright::hls

#endif
