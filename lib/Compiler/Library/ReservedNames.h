//===- ReservedNames.h - names that a C header cannot declare ---------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_LIBRARY_RESERVEDNAMES_H
#define TILEWRIGHT_LIB_COMPILER_LIBRARY_RESERVEDNAMES_H

namespace tilewright::library {

/// Keywords of C and C++, and what the headers and libraries of C and POSIX define, with blanks between; without names
/// that end in _t, all of which are POSIX's.
const char *reservedNames();

} // namespace tilewright::library

#endif
