//===- AskLibrary.h - what has no formula goes to the library, lane by lane -------===//
//
// Before:
//   unlessLarge<math::SinOp>(x, 1e5, fast)
// After:
//   %any = vector.reduction <or>, (|%x| > 1e5)
//   scf.if %any { scf.for %i = 0 to lanes { math.sin %x[%i] : f64 } } else { %fast }
//
// f32 asks in f64 and narrows what it gets.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_ASKLIBRARY_H
#define TILEWRIGHT_LIB_TARGET_CPU_ASKLIBRARY_H

#include "lib/Target/CPU/MathLanes.h"

namespace tilewright::cpu {

/// Whether a lane of `mask` is set.
mlir::Value anyLane(Lanes mask);

/// A scalar function of f64.
using LibraryCall = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// `fast`, unless a lane of `mask` is set: then what `call` makes of each lane of the operands.
Lanes unlessAny(Lanes mask, llvm::ArrayRef<Lanes> operands, Lanes fast, LibraryCall call);

template <typename OpTy> Lanes unlessAny(Lanes mask, llvm::ArrayRef<Lanes> operands, Lanes fast) {
  return unlessAny(mask, operands, fast,
                   [](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange scalars) -> mlir::Value {
                     return OpTy::create(b, loc, scalars.front().getType(), scalars);
                   });
}

/// `fast`, unless a lane of `x` is beyond the limit.
template <typename OpTy> Lanes unlessLarge(Lanes x, double limit, Lanes fast) {
  return unlessAny<OpTy>(greater(abs(x), limit), x, fast);
}

} // namespace tilewright::cpu

#endif
