//===- Progress.h - report the progress of a command ------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_PROGRESS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_PROGRESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>

namespace tilewright::driver {

/// Writes progress to standard error. Each line begins with the seconds since the construction of this object, as in
/// "[1.2 s] structured". If standard error is not a terminal, nothing is written, so that logs contain only errors.
class Progress {
public:
  Progress();

  /// Prints that the step `what` is complete.
  void done(llvm::StringRef what) const;

  /// Reads the manifest of the library at `path`, and prints the files, their sizes, the number of kernels for each
  /// CPU, and the size of the weights.
  llvm::Error summary(llvm::StringRef path) const;

private:
  bool shown;
  std::chrono::steady_clock::time_point start;
};

} // namespace tilewright::driver

#endif
