//===- Composites.h - what the readers of composite ops share --------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_COMPOSITES_H
#define TILEWRIGHT_LIB_FRONTEND_COMPOSITES_H

#include "lib/Frontend/Node.h"

namespace tilewright {

/// The op `target` of the table, which gives `types`, on `args`.
Results importAs(Node &n, llvm::StringRef target, const ArgList &args, ArrayRef<RankedTensorType> types);
/// The same with the type of the node's one result.
Results importAs(Node &n, llvm::StringRef target, const ArgList &args);

/// An argument of the node as it is, to be handed on.
Arg argumentOf(Node &n, unsigned index, llvm::StringRef name, Arg otherwise = {});

Arg listOf(ArrayRef<int64_t> values);

/// Keys's cubic with a = -0.75: the weight of an element that is `distance` away, in [0, 1] or (`far`) in [1, 2].
Value cubicWeight(Node &n, Value distance, bool far);

} // namespace tilewright

#endif
