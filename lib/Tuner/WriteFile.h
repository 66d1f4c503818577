//===- WriteFile.h - a file, or why there is none ---------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WRITEFILE_H
#define TILEWRIGHT_LIB_TUNER_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class raw_ostream;
}

namespace tilewright::tuner {

/// What `write` prints, in the file at `path`. A full disk is an error like any other, and not the process's end.
llvm::Error writeFile(const std::string &path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace tilewright::tuner

#endif
