//===- Link.h - link object code to a library within the process -------------------===//
#ifndef TILEWRIGHT_LIB_AOT_LINK_H
#define TILEWRIGHT_LIB_AOT_LINK_H

#include "tilewright/Library.h"

namespace tilewright::library {

/// Links `objects` (ELF images) with the runtime of libraries and writes the file at `path`, which exports only the
/// functions `exported`. Uses LLVM's lld, which is part of Tilewright, and needs nothing from the system but a folder
/// for temporary files. The error contains the linker's messages.
llvm::Error linkLibrary(LibraryOptions::Kind kind, llvm::ArrayRef<llvm::StringRef> objects,
                        llvm::ArrayRef<std::string> exported, llvm::StringRef path);

/// Returns `objects` with `prefix` added to the names of all global functions and variables that one of the objects
/// defines, so that they can be linked with other objects that have the same names.
llvm::Expected<std::vector<std::string>> withPrefix(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef prefix);

/// Writes a file atomically.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

/// Returns the archive of the runtime (lib/Runtime/Library).
llvm::StringRef runtimeArchive();

} // namespace tilewright::library

#endif
