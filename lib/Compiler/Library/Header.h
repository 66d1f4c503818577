//===- Header.h - the C header of a library -----------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_LIBRARY_HEADER_H
#define TILEWRIGHT_LIB_COMPILER_LIBRARY_HEADER_H

#include "lib/Compiler/Library/Interface.h"

namespace tilewright::library {

/// The text of <model>.h. `weightsFile` is empty where the library holds its weights.
std::string writeHeader(const Interface &interface, llvm::StringRef weightsFile);

} // namespace tilewright::library

#endif
