//===- PageFiles.h - the page's files, unchanged from Page/ --------------------------===//
#ifndef TILEWRIGHT_LIB_REPORT_PAGEFILES_H
#define TILEWRIGHT_LIB_REPORT_PAGEFILES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace tilewright::explain {

/// Returns page.html, in which {{policy}}, {{style}}, {{data}} and {{script}} are placeholders.
llvm::StringRef pageTemplate();
llvm::StringRef pageStyle();
/// Returns all scripts, in the order of their dependences.
std::string pageScript();

} // namespace tilewright::explain

#endif
