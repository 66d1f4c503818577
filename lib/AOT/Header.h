//===- Header.h - the C header of a library -----------------------------------------===//
#ifndef TILEWRIGHT_LIB_AOT_HEADER_H
#define TILEWRIGHT_LIB_AOT_HEADER_H

#include "lib/AOT/Describe.h"

namespace tilewright::library {

/// Returns the text of the C header.
std::string writeHeader(const Interface &interface, const Contents &contents);

} // namespace tilewright::library

#endif
