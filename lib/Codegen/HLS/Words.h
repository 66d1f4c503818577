//===- Words.h - arrays whose banks can be concatenated to words -----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_WORDS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_WORDS_H

#include "mlir/IR/Value.h"

namespace tilewright::hls {

/// Returns true if each nest that uses this array accesses at most two words per iteration, one per port, and writes
/// only whole words. A word consists of one element of every bank.
bool takesWholeWords(mlir::Value array);

} // namespace tilewright::hls

#endif
