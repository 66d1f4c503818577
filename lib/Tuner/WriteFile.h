//===- WriteFile.h - write a file with error handling -----------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WRITEFILE_H
#define TILEWRIGHT_LIB_TUNER_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tilewright::tuner {

/// Writes the output of `write` to the file at `path`. If the disk is full, returns an error instead of ending the
/// process.
llvm::Error writeFile(const std::string &path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace tilewright::tuner

#endif
