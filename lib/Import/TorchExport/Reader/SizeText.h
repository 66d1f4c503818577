//===- SizeText.h - check that the text of a size is cheap to evaluate ------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_SIZETEXT_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_SIZETEXT_H

#include <string>
#include <string_view>

namespace tilewright::exported {

/// Returns what is wrong with sympy's srepr of a size, or "". The expression must nest at most 24 deep and expand to at
/// most 256 terms, so that no file makes the compiler run forever. The importer reports unknown heads.
std::string checkSizeText(std::string_view text);

} // namespace tilewright::exported

#endif
