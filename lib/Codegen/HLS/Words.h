//===- Words.h - arrays whose banks can be concatenated into words -----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_WORDS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_WORDS_H

#include "mlir/IR/Value.h"

namespace tilewright::hls {

/// Returns true if the banks of `array` can be concatenated into words, which consist of one element of every bank.
/// This requires that each access uses at most two words per iteration, one per port, that a load of several elements
/// begins at the start of a word, and that each store writes whole words.
bool takesWholeWords(mlir::Value array);

} // namespace tilewright::hls

#endif
