//===- OutputKind.h - the output kind by suffix or --emit -----------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_OUTPUTKIND_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_OUTPUTKIND_H

#include "tilewright/Library.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace tilewright::driver {

/// The kind of output of `tilewright compile`, which --emit or the suffix of -o selects.
struct OutputKind {
  std::string emit;                            ///< a stage, or asm, ll, or the name of a library's kind
  std::optional<LibraryOptions::Kind> library; ///< the kind of library, if the output is a library
  bool isStage = false;
  bool isFolder = false; ///< a design, which the target hls writes without --emit

  bool isAssembly() const { return emit == "asm"; }
  bool isLLVM() const { return emit == "ll"; }
};

/// Returns true if `output`, the value of -o, names a folder: it ends in a slash, or a folder of this name exists.
bool isFolder(llvm::StringRef output);

/// Returns the kind of output that `emit`, the value of --emit, names. If `emit` is empty, the suffix of `output`, the
/// value of -o, selects the kind: .so, .a and .o are libraries, .s is assembly, .ptx and .cpp are the code that the
/// targets cuda and hls generate, .ll is LLVM IR, and .mlir is the IR after the stage `target`. If `output` has no
/// suffix, is a folder, or is "-" for standard output, the kind is a folder if `writesFolders` (Target::makesFiles()),
/// and the IR after the stage `target` otherwise. An unknown suffix selects a folder if `writesFolders`, and is an
/// error otherwise. Other errors are an unknown name, and a suffix that contradicts `emit` or `target`.
llvm::Expected<OutputKind> chooseOutput(llvm::StringRef emit, llvm::StringRef output, llvm::StringRef target,
                                        bool writesFolders);

} // namespace tilewright::driver

#endif
