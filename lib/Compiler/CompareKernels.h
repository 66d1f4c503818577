//===- CompareKernels.h - is a kernel's result within its bound? --------------------------===//
//
// The bound of check=reference. One kernel, three runs on the same inputs: `got` by the target that is checked, `exact`
// by the reference (f64 within the kernel), `plain` by the reference's loops in the kernel's own precision. Plain
// stands where eager stands in the numbers rule of design.md:
//
//   RMS(got - exact) <= 2 * max(RMS(plain - exact), (eps + eps32 * sqrt(R)) * S)
//
// with eps of the result's dtype, eps32 = 2^-23 (narrow floats accumulate in f32), R the length of the kernel's
// reductions together, S the largest RMS among the kernel's exact results; 3 in place of 2 below 1000 elements; f64
// itself: 1e-12 S. Plain makes the bound follow cancellation and steep functions; the second term is the least that
// rounding a sum of R terms costs, for when plain was lucky. No single element may err by more than 32 times the larger
// of the bound and what its own magnitude and plain's error there suggest: that finds the one wrong element in a
// million. NaN and infinities stand where exact or plain has them; integers equal exact or plain.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_COMPAREKERNELS_H
#define TILEWRIGHT_LIB_COMPILER_COMPAREKERNELS_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace tilewright {

/// What the elements of a buffer are.
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

/// Empty when `result` is within the bound, else what is wrong with it: the errors, the worst element, both values.
std::string compareResult(const ComparedResult &result, double reductionLength, double largestRms,
                          llvm::StringRef target);

/// The RMS of the finite elements.
double rmsOf(const ElementKind &kind, llvm::ArrayRef<int64_t> sizes, const void *buffer);

} // namespace tilewright

#endif
