//===- FixedPoint.h - a model of floats becomes one of integers with a binary point --===//
#ifndef TILEWRIGHT_FIXEDPOINT_H
#define TILEWRIGHT_FIXEDPOINT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// On a module of fixed point: `inputs` and `outputs`, the formats of the tensors ("16,6,AP_RND,AP_SAT", "" of
/// integers), `errors`, the most that each float result is off unless something saturates, and `layers`, what range
/// analysis says of each rounding.
inline constexpr llvm::StringLiteral fixedAttrName = "tw.fixed";

/// Makes (--tw-fixed-point) the floats of a graph integers with a binary point, in `formats` as of the flag --fixed
/// ("16,6 fc1=8,3"); arguments whose elements are known (tw_hls.value) become constants. Integers have the widths that
/// hardware needs.
llvm::Error makeFixedPoint(mlir::ModuleOp module, llvm::StringRef formats);
/// Makes (--tw-widen-integers) integers of any width those that programs have, with the same values.
llvm::Error widenIntegers(mlir::ModuleOp module);

} // namespace tilewright

#endif
