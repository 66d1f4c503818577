//===- SizeClasses.h - kernels with symbolic sizes are tuned for few, some and many -------------===//
//
// The class of a kernel's call is that of all its symbolic sizes multiplied with each other: the tokens of a batch, the
// images, the rows. Each class has a record of its own, and where they chose different schedules the kernel is compiled
// once for each (ApplyRecords.cpp) and the plan launches the one that a call's sizes are for.
//
// Tests: test/Unit/Tuner/SizeClassesTest.cpp, test/Tuner/size-classes.test
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_SIZECLASSES_H
#define TILEWRIGHT_LIB_TUNER_SIZECLASSES_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::tuner {

struct SizeClass {
  int64_t least, most;
  int64_t typical; ///< what it is measured at

  std::string text() const; ///< "to 16", "17 to 128", "from 129"
  bool operator==(const SizeClass &other) const { return least == other.least; }
};

/// All of them, without gaps, from 0 on.
llvm::ArrayRef<SizeClass> sizeClasses();

const SizeClass &sizeClassOf(llvm::ArrayRef<int64_t> sizes);

/// The signature of a kernel for calls of `of`.
std::string signatureIn(const std::string &signature, const SizeClass &of);

struct SizeRange {
  int64_t least = 0, most = INT64_MAX;
};

/// `given`, scaled alike within their `ranges` so that they are of the class `wanted`; nothing where the ranges have no
/// such sizes.
std::optional<std::vector<int64_t>> sizesIn(const SizeClass &wanted, llvm::ArrayRef<int64_t> given,
                                            llvm::ArrayRef<SizeRange> ranges);

} // namespace tilewright::tuner

#endif
