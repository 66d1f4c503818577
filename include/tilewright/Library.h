//===- Library.h - a module becomes a library that needs nothing -------------------===//
//
//   Session session;
//   LibraryOptions library;
//   library.path = "out/model";
//   if (llvm::Error error = writeLibrary(session, module, options, library)) ...
//
// writes out/model.so (code, plan, weights, runtime), out/model.h (plain C, documented) and out/model.json (what it
// is). The library needs the C library alone; no compiler, linker or header is needed to make it.
// docs/how-to/ahead-of-time.md shows how it is used, docs/decisions/0023-ahead-of-time-libraries.md says why so.
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
  std::string path;             ///< of the files, without suffix; its folder is made
  std::string model;            ///< prefix of the C names; empty: from `path`
  bool externalWeights = false; ///< into <path>.weights, which is mapped when an instance is created
  bool packed = true;           ///< weights are packed now, if this CPU can; else whenever an instance is created
  /// Per tensor argument of @main its elements, dense and row-major in the argument's type, read until writeLibrary()
  /// returns: weights of the library. Null, or behind the end: the caller of the library gives it, at every call.
  llvm::ArrayRef<const void *> weights;
  /// Told what has been done: "structured (x86-64-v3)", "weights (x86-64-v3)", "linked".
  std::function<void(llvm::StringRef step)> progress;
};

/// ".so", ".a" or ".o".
llvm::StringRef suffixOf(LibraryOptions::Kind kind);

/// Compiles @main of `module`, which is consumed, and writes the files; all or none. Errors name the op, input or file,
/// and what to do. Targets whose artifacts are the host's (cpu, reference) can; others say that they cannot.
llvm::Error writeLibrary(Session &session, mlir::ModuleOp module, const Options &options,
                         const LibraryOptions &library);

} // namespace tilewright

#endif
