//===- Banks.h - how many banks an array needs ---------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_BANKS_H
#define TILEWRIGHT_TARGET_HLS_BANKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Banks along a dimension of `size` elements that has `banks` already, where `copies` of a loop access it side by side
/// at `place`, an expression of which the loop's counter is dimension `counter`.
int64_t banksWithCopies(int64_t banks, int64_t size, mlir::AffineExpr place, unsigned counter, int64_t copies);

/// Gives every array of the design, and the arguments it is passed to, the banks that accesses in unrolled loops need.
/// Fails, with an error at the array, where that are more than `mostBanks`.
mlir::LogicalResult chooseBanks(mlir::func::FuncOp top);

} // namespace tilewright::hls

#endif
