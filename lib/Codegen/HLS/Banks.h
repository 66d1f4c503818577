//===- Banks.h - the number of banks that an array needs ------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_BANKS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_BANKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Returns the number of banks that a dimension of `size` elements needs. `banks` is the number that other accesses
/// need. A loop that is unrolled by `copies` accesses the elements at `index`, whose dimension `counter` is the loop's
/// counter.
int64_t banksWithCopies(int64_t banks, int64_t size, mlir::AffineExpr index, unsigned counter, int64_t copies);

/// Selects the number of banks of each array on the chip, for the accesses in unrolled loops and for the tasks that
/// copy data. Sets this number in the types of the array and of the task arguments to which the array is passed. An
/// array with one bank per element is placed in registers, unless it has no dimensions. Other arrays are placed in
/// block memory. If an array needs more than `mostBanks` banks, emits an error at the array and fails.
mlir::LogicalResult chooseBanks(mlir::func::FuncOp top);

} // namespace tilewright::hls

#endif
