//===- FixedPoint.h - converts a floating-point model to fixed point -----------------===//
#ifndef TILEWRIGHT_FIXEDPOINT_H
#define TILEWRIGHT_FIXEDPOINT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// An attribute of fixed-point modules: `inputs` and `outputs`, the formats of the tensors ("16,6,AP_RND,AP_SAT", ""
/// for integers); `errors`, the maximum error of each float result unless something saturates; and `layers`, the
/// result of the range analysis for each rounding.
inline constexpr llvm::StringLiteral fixedAttrName = "tw.fixed";

/// Converts (--tw-fixed-point) the floats of a graph to fixed-point integers, in `formats` as in the flag --fixed
/// ("16,6 fc1=8,3"). Arguments whose elements are known (tw_hls.value) become constants. The integers have the widths
/// that the hardware needs.
llvm::Error makeFixedPoint(mlir::ModuleOp module, llvm::StringRef formats);
/// Widens (--tw-widen-integers) integers of arbitrary width to the widths that programs support, with the same values.
llvm::Error widenIntegers(mlir::ModuleOp module);

} // namespace tilewright

#endif
