//===- RunResults.h - results of `tilewright run`, printed and written ----------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_RUNRESULTS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_RUNRESULTS_H

#include "NpyFile.h"
#include "llvm/ADT/ArrayRef.h"

namespace tilewright::driver {

/// Type, sizes, the sum of the elements and the sum of their magnitudes, a line a result.
void printResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names);

/// Each as NAME.npy into `folder`.
llvm::Error writeResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names, llvm::StringRef folder);

} // namespace tilewright::driver

#endif
