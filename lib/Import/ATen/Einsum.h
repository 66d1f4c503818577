//===- Einsum.h - einsum as matrix products -------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_EINSUM_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_EINSUM_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Computes einsum of `operands` as in NumPy, for an equation such as "bij,bjk->bik". Operands are contracted from left
/// to right. "..." represents dimensions that are broadcast. Without "->", the result has the dimensions of "...",
/// followed by the letters that occur once, in alphabetical order. If the equation is invalid, or contradicts the ranks
/// or sizes of the operands, refuses the node and returns no results.
Results einsum(Node &n, llvm::StringRef equation, ArrayRef<Value> operands);

} // namespace tilewright

#endif
