//===- HostArtifact.h - plan and object code in one image -------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_HOSTARTIFACT_H
#define TILEWRIGHT_LIB_DRIVER_HOSTARTIFACT_H

#include "lib/Runtime/Plan/Plan.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tilewright {

/// The parts of an image that packHostArtifact() has created. They refer to the memory of the image.
struct HostArtifact {
  llvm::StringRef plan;        ///< written by plan::serialize()
  llvm::StringRef kernelNames; ///< a line per kernel of the plan, from HostCode.cpp or DeviceCode.cpp
  llvm::SmallVector<llvm::StringRef> objects;
};

std::string packHostArtifact(const HostArtifact &parts);

/// Returns the parts of `image`, or an error if the image is truncated or empty.
llvm::Expected<HostArtifact> readHostArtifact(llvm::StringRef image);

/// Deserializes the plan of `parts`. Returns an error if the plan is invalid.
llvm::Expected<plan::Plan> planOf(const HostArtifact &parts);

} // namespace tilewright

#endif
