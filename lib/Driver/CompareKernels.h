//===- CompareKernels.h - check that a kernel's result is within its bound ----------------===//
//
// This file has the error bound of the option check=reference. A kernel runs three times on the same inputs. The result
// `got` is that of the checked target, `exact` is that of the reference target (f64 within the kernel), and `plain` is
// that of the reference's loops in the precision of the kernel. `plain` corresponds to eager in the numbers rule
// (docs/conformance.md):
//
//   RMS(got - exact) <= 2 * max(RMS(plain - exact), (eps + eps32 * sqrt(R)) * S)
//
// where eps is the machine epsilon of the result's dtype, eps32 = 2^-23 (bf16 and f16 accumulate in f32), R is the
// total length of the kernel's reductions, and S is the largest RMS among the kernel's exact results. The factor is 3
// instead of 2 for fewer than 1000 elements. For f64 the bound is 1e-12 S. No bound is smaller than the smallest normal
// number of the result's dtype.
//
// The error of `plain` is part of the bound, because it also grows with cancellation and with steep functions. The
// second term is the error of rounding a sum of R terms, in case `plain` is accidentally accurate. The error of a
// single element may be at most 32 times a limit, so that one wrong element in a million is detected. This limit is the
// largest of the bound, the element's error in `plain`, and eps times the element's magnitude in `exact`. NaN and
// infinities must be at the same indices as in `exact` or in `plain`. Integers must equal those of `exact` or of
// `plain`.
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
  std::string name;                           ///< name in the form that MLIR prints
  const llvm::fltSemantics *floats = nullptr; ///< null: integers
  unsigned bytes = 0;

  double number(const void *buffer, int64_t index) const;
};

struct ComparedResult {
  ElementKind kind;
  llvm::ArrayRef<int64_t> sizes;
  const void *got = nullptr, *exact = nullptr, *plain = nullptr;
};

/// Returns an empty string if `result` is within the bound. Otherwise returns a text that describes the error, with the
/// value of one wrong element.
std::string compareResult(const ComparedResult &result, double reductionLength, double largestRms,
                          llvm::StringRef target);

/// Returns the root mean square (RMS) of the finite elements of `buffer`.
double rmsOf(const ElementKind &kind, llvm::ArrayRef<int64_t> sizes, const void *buffer);

} // namespace tilewright

#endif
