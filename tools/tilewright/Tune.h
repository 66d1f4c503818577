//===- Tune.h - tuning as a part of another command ---------------------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_TUNE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_TUNE_H

#include "tilewright/Tuner.h"

namespace tilewright::driver {

/// Returns options with the command that starts worker processes and the function that detects Ctrl-C. `tilewright
/// tune` and `tilewright compile --tune=` use these options.
TuneOptions tuneOptions();

/// Tunes a copy of `module` at `tier` ("quick" or "full"), and reports progress on standard error.
llvm::Error tuneFirst(Session &session, mlir::ModuleOp module, const Options &options, llvm::StringRef tier);

} // namespace tilewright::driver

#endif
