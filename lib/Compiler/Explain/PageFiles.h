//===- PageFiles.h - the page's own files, as they are in Page/ ----------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_EXPLAIN_PAGEFILES_H
#define TILEWRIGHT_LIB_COMPILER_EXPLAIN_PAGEFILES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace tilewright::explain {

/// page.html: {{policy}}, {{style}}, {{data}} and {{script}} stand for its parts.
llvm::StringRef pageTemplate();
llvm::StringRef pageStyle();
/// All scripts, in the order in which they need each other.
std::string pageScript();

} // namespace tilewright::explain

#endif
