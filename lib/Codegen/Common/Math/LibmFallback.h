//===- LibmFallback.h - calls libm if a lane has no formula ---------------===//
//
// Before:
//   unlessLarge<math::SinOp>(x, 1e5, fast)
// After:
//   %any = vector.reduction <or>, (|%x| > 1e5)
//   scf.if %any { scf.for %i = 0 to lanes { math.sin %x[%i] : f64 } } else { %fast }
//
// f32 operands are extended to f64, and the result is truncated.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_LIBMFALLBACK_H
#define TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_LIBMFALLBACK_H

#include "lib/Codegen/Common/Math/MathLanes.h"

namespace tilewright::cpu {

/// Returns true if any lane of `mask` is set.
mlir::Value anyLane(Lanes mask);

/// A callback that emits a scalar function of f64.
using LibraryCall = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// Returns `fast` if no lane of `mask` is set. Otherwise returns the result of `call` for each lane of the operands.
Lanes unlessAny(Lanes mask, llvm::ArrayRef<Lanes> operands, Lanes fast, LibraryCall call);

template <typename OpTy> Lanes unlessAny(Lanes mask, llvm::ArrayRef<Lanes> operands, Lanes fast) {
  return unlessAny(mask, operands, fast,
                   [](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange scalars) -> mlir::Value {
                     return OpTy::create(b, loc, scalars.front().getType(), scalars);
                   });
}

/// Returns `fast` if the magnitudes of all lanes of `x` are at most `limit`. Otherwise returns libm's results for all
/// lanes.
template <typename OpTy> Lanes unlessLarge(Lanes x, double limit, Lanes fast) {
  return unlessAny<OpTy>(greater(abs(x), limit), x, fast);
}

} // namespace tilewright::cpu

#endif
