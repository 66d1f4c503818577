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

/// Whether each result that `expected` names, as "NAME=y.npy", is what the file has: sizes, integers and booleans
/// equal, NaN and infinities in the same places, and the RMS of the differences at most `tolerance` times the RMS of
/// the file (0: 1e-12 of float64, 1e-5 of float32, 2e-3 of float16, 1e-2 of narrower ones). Prints a line each; the
/// error has all that differ.
llvm::Error compareResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names,
                           llvm::ArrayRef<std::string> expected, double tolerance);

} // namespace tilewright::driver

#endif
