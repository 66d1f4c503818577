//===- Words.h - arrays whose banks may lie side by side in words ----------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_WORDS_H
#define TILEWRIGHT_TARGET_HLS_WORDS_H

#include "mlir/IR/Value.h"

namespace tilewright::hls {

/// Does each nest that uses this array take at most two words an iteration, one for each port, and write whole ones? A
/// word is an element of every bank.
bool takesWholeWords(mlir::Value array);

} // namespace tilewright::hls

#endif
