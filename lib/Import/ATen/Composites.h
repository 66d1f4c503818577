//===- Composites.h - helpers of the composite ops' importers --------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_COMPOSITES_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_COMPOSITES_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Imports the operator `target`, which has OperatorKind::Import in the table (Table.h), with the arguments `args` and
/// results of `types`.
Results importAs(Node &n, llvm::StringRef target, const ArgList &args, ArrayRef<RankedTensorType> types);
/// Imports the operator `target` of the table with the arguments `args`. The result has the type of the node's only
/// result.
Results importAs(Node &n, llvm::StringRef target, const ArgList &args);

/// Returns an argument of the node, so that it can be passed to importAs() unchanged. Returns `otherwise` if the node
/// does not have the argument.
Arg argumentOf(Node &n, unsigned index, llvm::StringRef name, Arg otherwise = {});

Arg listOf(ArrayRef<int64_t> values);

/// Imports narrow and narrow_copy(self, dim, start, length). The length is taken from the result's type.
Results narrow(Node &n);

/// Returns the weight of an element at `distance` in cubic interpolation (Keys's kernel with a = -0.75). The distance
/// is in [0, 1], or in [1, 2] with `far`.
Value cubicWeight(Node &n, Value distance, bool far);

} // namespace tilewright

#endif
