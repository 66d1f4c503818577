//===- ReservedNames.h - names that a C header cannot declare ---------------===//
#ifndef TILEWRIGHT_LIB_AOT_RESERVEDNAMES_H
#define TILEWRIGHT_LIB_AOT_RESERVEDNAMES_H

namespace tilewright::library {

/// Returns keywords of C and C++, and the names that the headers and libraries of C and POSIX define, separated by
/// blanks. Names that end in _t are not listed, because POSIX reserves all of them.
const char *reservedNames();

} // namespace tilewright::library

#endif
