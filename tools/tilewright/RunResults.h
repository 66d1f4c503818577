//===- RunResults.h - print, compare and write results of `tilewright run` ------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_RUNRESULTS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_RUNRESULTS_H

#include "NpyFile.h"
#include "llvm/ADT/ArrayRef.h"

namespace tilewright::driver {

/// Prints one line per result, with the element type, the sizes, the sum of the elements and the sum of their
/// magnitudes.
void printResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names);

/// Writes each result as NAME.npy into `folder`.
llvm::Error writeResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names, llvm::StringRef folder);

/// Compares results with files. Each element of `expected` is "NAME=y.npy", with the name or number of a result. Sizes,
/// integers and booleans must be equal, NaN and infinities must be at the same indices, and the RMS of the differences
/// must be at most `tolerance` times the RMS of the file. If `tolerance` is 0, the default is used, which is 1e-12 for
/// float64, 1e-5 for float32, 2e-3 for float16, and 1e-2 for other floats. Prints one line for each compared result
/// that does not differ. The error lists all results that differ.
llvm::Error compareResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names,
                           llvm::ArrayRef<std::string> expected, double tolerance);

} // namespace tilewright::driver

#endif
