//===- Weights.h - data of a library's plan that its caller does not provide --------===//
#ifndef TILEWRIGHT_LIB_AOT_WEIGHTS_H
#define TILEWRIGHT_LIB_AOT_WEIGHTS_H

#include "lib/AOT/Describe.h"
#include "lib/Driver/HostArtifact.h"
#include <map>

namespace tilewright::library {

/// An input of the plan whose data the library contains.
struct BoundInput {
  size_t input;
  llvm::ArrayRef<char> bytes;
};

/// The weights of a library in their final layout. Equal weights are stored once, so that variants share them.
class WeightStore {
public:
  /// Stores `bytes` and returns their offset, a multiple of 64.
  int64_t add(llvm::ArrayRef<uint8_t> bytes);
  std::vector<uint8_t> take() { return std::move(data); }

private:
  std::vector<uint8_t> data;
  std::multimap<uint64_t, std::pair<size_t, size_t>> stored; ///< hash of the bytes -> offset and size
};

/// Moves the constants of the verified `plan` and `bound` into `variant` and `store`. The constants become inputs of
/// the plan, and the library provides the data of these inputs and of `bound`. With `packHere`, which requires that the
/// code runs on this CPU, the `once` steps run now, and their results become weights instead of their inputs.
/// Otherwise, if there are `once` steps, variant.packed is false, and create() runs them.
llvm::Error takeWeights(plan::Plan &plan, llvm::ArrayRef<BoundInput> bound, const HostArtifact &artifact, bool packHere,
                        VariantContents &variant, WeightStore &store);

} // namespace tilewright::library

#endif
