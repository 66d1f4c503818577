//===- OutputKind.h - the output kind by suffix or --emit -----------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_OUTPUTKIND_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_OUTPUTKIND_H

#include "tilewright/Library.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace tilewright::driver {

/// The kind of output of `tilewright compile`, by its name in --emit.
struct OutputKind {
  std::string emit;                            ///< a stage, or asm, ll, or the name of a library's kind
  std::optional<LibraryOptions::Kind> library; ///< the kind of library, if the output is a library
  bool isStage = false;
  bool isFolder = false; ///< a design, which the target hls writes without --emit

  bool isAssembly() const { return emit == "asm"; }
  bool isLLVM() const { return emit == "ll"; }
};

/// Returns true if the value of -o is a folder: it ends in a slash, or a folder of this name exists.
bool isFolder(llvm::StringRef output);

/// Returns the kind that --emit names. Without --emit, the suffix of -o selects the kind: .so, .a and .o are libraries,
/// .s is assembly, .ptx and .cpp are the languages of cuda and hls, .ll is LLVM IR, and .mlir is the IR after the stage
/// target, which is also the kind without a suffix. `emit` is empty without --emit; `output` is "-" for the standard
/// output; `writesFolders` is Target::makesFiles(). Errors: an unknown name, a suffix that contradicts --emit or the
/// target, an unknown suffix without --emit.
llvm::Expected<OutputKind> chooseOutput(llvm::StringRef emit, llvm::StringRef output, llvm::StringRef target,
                                        bool writesFolders);

} // namespace tilewright::driver

#endif
