//===- Banks.h - the number of banks that an array needs ------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_BANKS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_BANKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Returns the number of banks of a dimension of `size` elements, which already has `banks`, if `copies` of a loop
/// access it in parallel at `index`. The loop's counter is dimension `counter` of this expression.
int64_t banksWithCopies(int64_t banks, int64_t size, mlir::AffineExpr index, unsigned counter, int64_t copies);

/// Sets the banks of every array of the design, and of the arguments that it is passed to, to those that accesses in
/// unrolled loops need. Fails with an error at an array that needs more than `mostBanks`.
mlir::LogicalResult chooseBanks(mlir::func::FuncOp top);

} // namespace tilewright::hls

#endif
