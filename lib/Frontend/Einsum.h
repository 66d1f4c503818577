//===- Einsum.h - products by letters -------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EINSUM_H
#define TILEWRIGHT_LIB_FRONTEND_EINSUM_H

#include "lib/Frontend/Node.h"

namespace tilewright {

/// numpy's einsum of `operands`, from left to right: "bij,bjk->bik". "..." stands for dimensions that broadcast;
/// without
/// "->" the result has the letters that are there once, in order. Refuses, and gives none, where the equation is not
/// one or does not fit the operands.
Results einsum(Node &n, llvm::StringRef equation, ArrayRef<Value> operands);

} // namespace tilewright

#endif
