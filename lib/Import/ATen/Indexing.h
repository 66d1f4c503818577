//===- Indexing.h - conversion of index lists for tw.take and tw.put ----------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_INDEXING_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_INDEXING_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Index tensors of adjacent dimensions from `dim` on, after the indexed tensor was permuted by `order`.
struct IndexPlan {
  SmallVector<int64_t> order; ///< dimensions of the indexed tensor; the identity if the indices are adjacent
  SmallVector<Value> indices;
  int64_t dim = 0;
  bool permuted() const { return !llvm::is_sorted(order); }
};

/// Converts aten.index's list, in which None selects a whole dimension. Refuses masks.
IndexPlan planIndices(Node &n, Value tensor, ArrayRef<Value> indices);

/// Emits tw.take of `tensor` at the index tensors of its dimensions from `dim` on. With `wraps`, negative indices count
/// from the end.
Value take(Node &n, Value tensor, ArrayRef<Value> indices, int64_t dim, bool wraps = true);

/// Converts an index tensor to i64 or i32.
Value asIndex(Node &n, Value index);

} // namespace tilewright

#endif
