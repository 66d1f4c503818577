//===- CompareKernels.h - check that a kernel's result is within its bound ----------------===//
//
// The error bound of check=reference. A kernel runs three times on the same inputs: `got` on the checked target,
// `exact` on the reference (f64 within the kernel), `plain` with the reference's loops in the kernel's own precision.
// Plain takes the role of eager in the numbers rule (docs/conformance.md):
//
//   RMS(got - exact) <= 2 * max(RMS(plain - exact), (eps + eps32 * sqrt(R)) * S)
//
// where eps is that of the result's dtype, eps32 = 2^-23 (narrow floats accumulate in f32), R the total length of the
// kernel's reductions, and S the largest RMS among the kernel's exact results. The factor is 3 instead of 2 below
// 1000 elements; for f64 the bound is 1e-12 S. With plain, the bound adapts to cancellation and steep functions; the
// second term is the minimum error of rounding a sum of R terms, in case plain is accidentally accurate. The error of
// a single element may be at most 32 times the larger of the bound and the value derived from the magnitude and plain's
// error of this element, which detects one wrong element in a million. NaN and infinities must be where exact or plain
// has them; integers must equal exact or plain.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_COMPAREKERNELS_H
#define TILEWRIGHT_LIB_DRIVER_COMPAREKERNELS_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace tilewright {

/// The type of a buffer's elements.
struct ElementKind {
  std::string name;                           ///< as MLIR prints it
  const llvm::fltSemantics *floats = nullptr; ///< null: integers
  unsigned bytes = 0;

  double number(const void *buffer, int64_t index) const;
};

struct ComparedResult {
  ElementKind kind;
  llvm::ArrayRef<int64_t> sizes;
  const void *got = nullptr, *exact = nullptr, *plain = nullptr;
};

/// Returns an empty string if `result` is within the bound, otherwise its errors, the worst element and both values.
std::string compareResult(const ComparedResult &result, double reductionLength, double largestRms,
                          llvm::StringRef target);

/// Returns the RMS of the finite elements.
double rmsOf(const ElementKind &kind, llvm::ArrayRef<int64_t> sizes, const void *buffer);

} // namespace tilewright

#endif
