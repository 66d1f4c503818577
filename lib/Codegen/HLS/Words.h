//===- Words.h - arrays whose banks can be concatenated to words -----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_WORDS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_WORDS_H

#include "mlir/IR/Value.h"

namespace tilewright::hls {

/// Returns true if all accesses of `array` allow its banks to be concatenated to words, which consist of one element of
/// every bank. An access must use at most two words per iteration, one per port, and a store must write whole words.
bool takesWholeWords(mlir::Value array);

} // namespace tilewright::hls

#endif
