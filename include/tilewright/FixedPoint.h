//===- FixedPoint.h - converts a floating-point model to fixed point -----------------===//
#ifndef TILEWRIGHT_FIXEDPOINT_H
#define TILEWRIGHT_FIXEDPOINT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// An attribute of fixed-point modules. `inputs` and `outputs` are the formats of the tensors ("16,6,AP_RND,AP_SAT", or
/// "" for integers). `errors` has a bound on the error of each float result, which holds if no value saturates.
/// `layers` has the result of the range analysis for each rounding.
inline constexpr llvm::StringLiteral fixedAttrName = "tw.fixed";

/// Converts the floats of a graph to fixed-point integers (--tw-fixed-point). `formats` has the syntax of the flag
/// --fixed ("16,6 fc1=8,3"). Arguments whose elements are known (tw_hls.value) become constants. The integers have the
/// bit widths that the hardware needs.
llvm::Error makeFixedPoint(mlir::ModuleOp module, llvm::StringRef formats);
/// Widens integers of arbitrary bit width to 8, 16, 32 or 64 bits, which CPUs support, without changing their values
/// (--tw-widen-integers).
llvm::Error widenIntegers(mlir::ModuleOp module);

} // namespace tilewright

#endif
