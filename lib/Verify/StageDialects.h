//===- StageDialects.h - the dialects that exist at the end of each stage -----------------===//
#ifndef TILEWRIGHT_LIB_VERIFY_STAGEDIALECTS_H
#define TILEWRIGHT_LIB_VERIFY_STAGEDIALECTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright {

struct StageDialects {
  llvm::StringLiteral stage;
  /// The names of the dialects whose ops may occur after the stage, each between two spaces. From the vector stage on,
  /// these are the dialects of the target cpu; other targets specify their own (Target::dialectsAfter).
  llvm::StringLiteral dialects;

  bool has(llvm::StringRef dialect) const { return dialects.contains((" " + dialect + " ").str()); }
};

/// One element per stage, in order.
llvm::ArrayRef<StageDialects> stageDialects();

/// Returns the element of `stage`; null if there is no such stage.
const StageDialects *dialectsOf(llvm::StringRef stage);

} // namespace tilewright

#endif
