//===- Progress.h - where a command is, for people who watch ----------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_PROGRESS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_PROGRESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>

namespace tilewright::driver {

/// Writes lines to standard error, each with the seconds since it was made: "[1.2 s] structured". Only where that is a
/// terminal, so that scripts and logs see results and errors alone.
class Progress {
public:
  Progress();

  /// `what` has been done.
  void done(llvm::StringRef what) const;

  /// That a library lies at `path`, from its manifest: its files and their sizes, its kernels, its CPUs.
  llvm::Error summary(llvm::StringRef path) const;

private:
  bool shown;
  std::chrono::steady_clock::time_point start;
};

} // namespace tilewright::driver

#endif
