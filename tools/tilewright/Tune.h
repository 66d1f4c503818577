//===- Tune.h - tuning on the way of another command --------------------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_TUNE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_TUNE_H

#include "tilewright/Tuner.h"

namespace tilewright::driver {

/// How `tilewright tune` and `compile --tune=` start workers and are interrupted.
TuneOptions tuneOptions();

/// Tunes a copy of `module` at `tier`, quick or full, and tells on standard error what it does.
llvm::Error tuneFirst(Session &session, mlir::ModuleOp module, const Options &options, llvm::StringRef tier);

} // namespace tilewright::driver

#endif
