//===- SizeClasses.h - classes of symbolic sizes that are tuned separately ----------------------===//
//
// The class of a kernel's call depends on the product of all its symbolic sizes, such as the tokens of a batch, the
// images, or the rows. Each class has a separate record. If the schedules of the classes differ, the kernel is compiled
// once for each schedule (ApplyRecords.cpp), and the plan launches the variant for the call's sizes.
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
  int64_t typical; ///< the size at which kernels are measured for this class

  std::string text() const; ///< "to 16", "17 to 128", "from 129"
  bool operator==(const SizeClass &other) const { return least == other.least; }
};

/// Returns all classes, which cover the numbers from 0 on without gaps.
llvm::ArrayRef<SizeClass> sizeClasses();

const SizeClass &sizeClassOf(llvm::ArrayRef<int64_t> sizes);

/// Returns the signature of a kernel for calls whose sizes are in the class `of`.
std::string signatureIn(const std::string &signature, const SizeClass &of);

struct SizeRange {
  int64_t least = 0, most = INT64_MAX;
};

/// Returns the sizes `given`, scaled by a common factor so that they are in the class `wanted`. A size that would leave
/// its range in `ranges` is set to the end of the range instead. Returns nullopt if there are no sizes, or if the
/// resulting sizes are not in this class.
std::optional<std::vector<int64_t>> sizesIn(const SizeClass &wanted, llvm::ArrayRef<int64_t> given,
                                            llvm::ArrayRef<SizeRange> ranges);

} // namespace tilewright::tuner

#endif
