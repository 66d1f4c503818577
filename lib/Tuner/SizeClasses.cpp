//===- SizeClasses.cpp - classes of symbolic sizes that are tuned separately --------------------===//
#include "lib/Tuner/SizeClasses.h"
#include "dialects/Schedule/Schedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

namespace tilewright::tuner {
namespace {

int64_t productOf(llvm::ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(product, std::max<int64_t>(size, 0), product))
      return INT64_MAX;
  return product;
}
} // namespace

std::string SizeClass::text() const { return schedule::describeSizes(least, most); }

llvm::ArrayRef<SizeClass> sizeClasses() {
  // The classes are: decoding and small batches; sizes whose data fits in the L2 cache together with weights; all
  // larger sizes.
  static constexpr SizeClass all[] = {{0, 16, 8}, {17, 128, 64}, {129, INT64_MAX, 512}};
  return all;
}

const SizeClass &sizeClassOf(llvm::ArrayRef<int64_t> sizes) {
  const int64_t product = productOf(sizes);
  return *llvm::find_if(sizeClasses(), [&](const SizeClass &one) { return product <= one.most; });
}

std::string signatureIn(const std::string &signature, const SizeClass &of) {
  return signature + ", sizes " + of.text();
}

std::optional<std::vector<int64_t>> sizesIn(const SizeClass &wanted, llvm::ArrayRef<int64_t> given,
                                            llvm::ArrayRef<SizeRange> ranges) {
  std::vector<int64_t> sizes(given.begin(), given.end());
  std::vector<bool> fixed(sizes.size(), false);
  // If a scaled size reaches an end of its range, it is fixed at this end, and only the other sizes are scaled further.
  for (size_t round = 0; round <= sizes.size(); ++round) {
    double others = 1, own = 1;
    size_t free = 0;
    for (auto [size, isFixed] : llvm::zip_equal(sizes, fixed)) {
      (isFixed ? others : own) *= double(std::max<int64_t>(size, 1));
      free += !isFixed;
    }
    if (free == 0)
      break;
    const double factor = std::pow(double(wanted.typical) / (others * own), 1 / double(free));
    bool reached = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (fixed[i])
        continue;
      const double scaled = std::round(double(std::max<int64_t>(sizes[i], 1)) * factor);
      const double least = double(ranges[i].least), most = double(ranges[i].most);
      if (scaled < least || scaled > most)
        fixed[i] = reached = true;
      sizes[i] = scaled < least ? ranges[i].least : scaled > most ? ranges[i].most : int64_t(scaled);
    }
    if (!reached)
      break;
  }
  if (sizes.empty() || !(sizeClassOf(sizes) == wanted))
    return std::nullopt;
  return sizes;
}

} // namespace tilewright::tuner
