//===- Progress.h - report the progress of a command ------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_PROGRESS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_PROGRESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>

namespace tilewright::driver {

/// Writes lines to standard error, each with the seconds since construction: "[1.2 s] structured". Writes only to a
/// terminal: the output of scripts and logs must contain only results and errors.
class Progress {
public:
  Progress();

  /// Reports that `what` has finished.
  void done(llvm::StringRef what) const;

  /// Reports the library at `path` by its manifest: its files and their sizes, its kernels, its CPUs.
  llvm::Error summary(llvm::StringRef path) const;

private:
  bool shown;
  std::chrono::steady_clock::time_point start;
};

} // namespace tilewright::driver

#endif
