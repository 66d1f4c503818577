//===- Einsum.h - einsum as matrix products -------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_EINSUM_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_EINSUM_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Computes numpy's einsum of `operands`, from left to right: "bij,bjk->bik". "..." represents dimensions that
/// broadcast. Without "->" the result has the letters that occur once, in alphabetical order. Refuses the node, with no
/// results, if the equation is invalid or does not fit the operands.
Results einsum(Node &n, llvm::StringRef equation, ArrayRef<Value> operands);

} // namespace tilewright

#endif
