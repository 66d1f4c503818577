//===- Weights.h - what a library's plan reads that its caller does not give --------===//
#ifndef TILEWRIGHT_LIB_COMPILER_LIBRARY_WEIGHTS_H
#define TILEWRIGHT_LIB_COMPILER_LIBRARY_WEIGHTS_H

#include "lib/Compiler/HostArtifact.h"
#include "lib/Compiler/Library/Describe.h"

namespace tilewright::library {

/// An input of the plan whose data the library has.
struct BoundInput {
  size_t input;
  llvm::ArrayRef<char> bytes;
};

/// Moves the constants of the verified `plan` and `bound` into `contents`. They become inputs that
/// the library gives. With `packHere`, which says that the code runs on this CPU, the once steps are run now, and what
/// they make become weights in the place of what they read; else contents.packed is false, and they run in create().
llvm::Error takeWeights(plan::Plan &plan, llvm::ArrayRef<BoundInput> bound, const HostArtifact &artifact, bool packHere,
                        Contents &contents);

} // namespace tilewright::library

#endif
