//===- Banks.h - how many banks an array needs ---------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_BANKS_H
#define TILEWRIGHT_TARGET_HLS_BANKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Gives every array of the design, and the arguments it is passed to, the banks that accesses in unrolled loops need.
mlir::LogicalResult chooseBanks(mlir::func::FuncOp top);

} // namespace tilewright::hls

#endif
