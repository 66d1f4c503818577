//===- Banks.h - how many banks an array needs ---------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_BANKS_H
#define TILEWRIGHT_TARGET_HLS_BANKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// The coefficient of dimension `position` in a linear expression; 0: it is not there.
int64_t coefficientOf(mlir::AffineExpr expr, unsigned position);

/// Gives every array of the design, and the arguments it is passed to, the banks that accesses in unrolled loops need.
/// Fails, with an error at the array, where that are more than `mostBanks`.
mlir::LogicalResult chooseBanks(mlir::func::FuncOp top);

} // namespace tilewright::hls

#endif
