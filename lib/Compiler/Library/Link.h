//===- Link.h - object code becomes a library, in process --------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_LIBRARY_LINK_H
#define TILEWRIGHT_LIB_COMPILER_LIBRARY_LINK_H

#include "tilewright/Library.h"

namespace tilewright::library {

/// Links `objects` (ELF images) with the runtime of libraries and writes the file at `path`, which exports the
/// functions `exported` and nothing else. LLVM's lld is part of Tilewright; of the system nothing is asked but a folder
/// for temporary files. The error is what the linker said.
llvm::Error linkLibrary(LibraryOptions::Kind kind, llvm::ArrayRef<llvm::StringRef> objects,
                        llvm::ArrayRef<std::string> exported, llvm::StringRef path);

/// `objects` with `prefix` before the name of every function and variable that one of them defines for all to see, so
/// that they can be linked beside others with the same names.
llvm::Expected<std::vector<std::string>> withPrefix(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef prefix);

/// Writes a file whole, or not at all.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

/// The archive of the runtime (lib/Runtime/Library).
llvm::StringRef runtimeArchive();

} // namespace tilewright::library

#endif
