//===- SizeText.h - whether a size's text is one that may be evaluated ------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_SIZETEXT_H
#define TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_SIZETEXT_H

#include <string>
#include <string_view>

namespace tilewright::exported {

/// What is wrong with sympy's srepr of a size, or "": it must nest at most 24 deep and multiply out to at most 256
/// terms, so that no file makes the compiler work for ever. Heads are not judged here: the importer knows which it has.
std::string checkSizeText(std::string_view text);

} // namespace tilewright::exported

#endif
