//===- Sorts.h - sorting along a dimension ------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_SORTS_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_SORTS_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// The sorted elements, and the i64 index that each of them had along the dimension before.
struct Sorted {
  Value values, indices;
};

/// Emits a stable sort of `x`, which has at least one dimension, along `dim`. NaN is the largest value. With `k`, only
/// the first k elements are returned.
Sorted sortAlong(Node &n, Value x, int64_t dim, bool descending = false, std::optional<int64_t> k = std::nullopt);

} // namespace tilewright

#endif
