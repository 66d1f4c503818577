//===- Composites.h - helpers of the composite ops' importers --------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_COMPOSITES_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_COMPOSITES_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Imports the table's op `target` on `args`, with results of `types`.
Results importAs(Node &n, llvm::StringRef target, const ArgList &args, ArrayRef<RankedTensorType> types);
/// The same with the type of the node's single result.
Results importAs(Node &n, llvm::StringRef target, const ArgList &args);

/// Returns an argument of the node unchanged, to be passed to importAs(), or `otherwise` if it is missing.
Arg argumentOf(Node &n, unsigned index, llvm::StringRef name, Arg otherwise = {});

Arg listOf(ArrayRef<int64_t> values);

/// Keys's cubic with a = -0.75: returns the weight of an element at `distance`, in [0, 1] or (`far`) in [1, 2].
Value cubicWeight(Node &n, Value distance, bool far);

} // namespace tilewright

#endif
