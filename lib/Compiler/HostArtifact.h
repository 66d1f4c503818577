//===- HostArtifact.h - plan and object code in one image -------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_HOSTARTIFACT_H
#define TILEWRIGHT_LIB_COMPILER_HOSTARTIFACT_H

#include "lib/Runtime/Plan/Plan.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tilewright {

/// Parts of an image of packHostArtifact(), which they point into.
struct HostArtifact {
  llvm::StringRef plan;        ///< as plan::serialize() wrote it
  llvm::StringRef kernelNames; ///< a line per kernel of the plan, see nameKernels() in HostCode.cpp
  llvm::SmallVector<llvm::StringRef> objects;
};

std::string packHostArtifact(const HostArtifact &parts);

/// The parts of `image`; an error when it is truncated.
llvm::Expected<HostArtifact> readHostArtifact(llvm::StringRef image);

/// The plan of `parts`; an error when it cannot be read.
llvm::Expected<plan::Plan> planOf(const HostArtifact &parts);

} // namespace tilewright

#endif
