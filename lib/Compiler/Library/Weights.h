//===- Weights.h - what a library's plan reads that its caller does not give --------===//
#ifndef TILEWRIGHT_LIB_COMPILER_LIBRARY_WEIGHTS_H
#define TILEWRIGHT_LIB_COMPILER_LIBRARY_WEIGHTS_H

#include "lib/Compiler/HostArtifact.h"
#include "lib/Compiler/Library/Describe.h"
#include <map>

namespace tilewright::library {

/// An input of the plan whose data the library has.
struct BoundInput {
  size_t input;
  llvm::ArrayRef<char> bytes;
};

/// The weights of a library as they will lie, equal ones once: variants share what they read alike.
class WeightStore {
public:
  /// Where `bytes` lie: a multiple of 64.
  int64_t place(llvm::ArrayRef<uint8_t> bytes);
  std::vector<uint8_t> take() { return std::move(data); }

private:
  std::vector<uint8_t> data;
  std::multimap<uint64_t, std::pair<size_t, size_t>> places; ///< hash of the bytes -> offset and size
};

/// Moves the constants of the verified `plan` and `bound` into `variant` and `store`. They become inputs that
/// the library gives. With `packHere`, which says that the code runs on this CPU, the once steps are run now, and what
/// they make become weights in the place of what they read; else variant.packed is false, and they run in create().
llvm::Error takeWeights(plan::Plan &plan, llvm::ArrayRef<BoundInput> bound, const HostArtifact &artifact, bool packHere,
                        VariantContents &variant, WeightStore &store);

} // namespace tilewright::library

#endif
