//===- SizeText.h - check that the text of a size is cheap to evaluate ------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_SIZETEXT_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_SIZETEXT_H

#include <string>
#include <string_view>

namespace tilewright::exported {

/// Checks sympy's srepr of a size and returns an error message, or "" if it is valid. The text must have at most 4096
/// characters, the nesting depth of the expression must be at most 24, and its expanded form must have at most 256
/// terms. These limits bound the compile time for untrusted files. Unknown functions are not checked here; the importer
/// reports them.
std::string checkSizeText(std::string_view text);

} // namespace tilewright::exported

#endif
