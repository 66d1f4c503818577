//===- Header.h - the C header of a library -----------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_LIBRARY_HEADER_H
#define TILEWRIGHT_LIB_COMPILER_LIBRARY_HEADER_H

#include "lib/Compiler/Library/Describe.h"

namespace tilewright::library {

/// Returns the text of <model>.h.
std::string writeHeader(const Interface &interface, const Contents &contents);

} // namespace tilewright::library

#endif
