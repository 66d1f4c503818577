//===- Library.h - compiles a module to a self-contained library -------------------===//
//
//   Session session;
//   LibraryOptions library;
//   library.path = "out/model";
//   if (llvm::Error error = writeLibrary(session, module, options, library)) ...
//
// writes out/model.so (code, plan, weights, runtime), out/model.h (documented C) and out/model.json (the manifest).
// The library depends only on the C library; no compiler, linker or header is needed to build it.
// docs/how-to/ahead-of-time.md describes its use, and docs/decisions/0023-ahead-of-time-libraries.md describes its
// design.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIBRARY_H
#define TILEWRIGHT_LIBRARY_H

#include "tilewright/Compiler.h"
#include <functional>

namespace tilewright {

struct LibraryOptions {
  enum class Kind {
    Shared, ///< <path>.so
    Static, ///< <path>.a
    Object, ///< <path>.o
  };
  Kind kind = Kind::Shared;
  std::string path;             ///< path of the files, without suffix; the folder is created
  std::string model;            ///< prefix of the C names; empty: derived from `path`
  bool externalWeights = false; ///< true: weights are in <path>.weights, which is mapped when an instance is created
  /// True: weights are packed now, if this CPU can; false: they are packed each time an instance is created.
  bool packed = true;
  /// One entry per tensor argument of @main. An entry that is not null makes the argument a weight of the library, and
  /// points to the elements of the weight, dense and row-major in the argument's type. The elements are read until
  /// writeLibrary() returns. If the entry is null or missing, the argument is an input of every call.
  llvm::ArrayRef<const void *> weights;
  /// Callback that is called after each step with the name of the step: "structured (x86-64-v3)", "weights
  /// (x86-64-v3)", "linked".
  std::function<void(llvm::StringRef step)> progress;
};

/// Returns ".so", ".a" or ".o".
llvm::StringRef suffixOf(LibraryOptions::Kind kind);

/// Compiles @main of `module`, which is consumed, and writes the files of the library. If compiling or linking fails,
/// no file is written. Only targets with artifacts for the host (cpu, reference) are supported. For other targets,
/// returns an error.
llvm::Error writeLibrary(Session &session, mlir::ModuleOp module, const Options &options,
                         const LibraryOptions &library);

} // namespace tilewright

#endif
