//===- Indexing.h - index lists as tw.take and tw.put want them ---------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_INDEXING_H
#define TILEWRIGHT_LIB_FRONTEND_INDEXING_H

#include "lib/Frontend/Node.h"

namespace tilewright {

/// Index tensors that stand side by side from `dim` on, after the tensor was permuted by `order`.
struct IndexPlan {
  SmallVector<int64_t> order; ///< dimensions of the indexed tensor; the identity where the indices are neighbours
  SmallVector<Value> indices;
  int64_t dim = 0;
  bool permuted() const { return !llvm::is_sorted(order); }
};

/// From aten.index's list with None for whole dimensions. Refuses masks.
IndexPlan planIndices(Node &n, Value tensor, ArrayRef<Value> indices);

/// tw.take of `tensor` at the index tensors of its dimensions from `dim` on. `wraps`: negative indices count from the
/// end.
Value take(Node &n, Value tensor, ArrayRef<Value> indices, int64_t dim, bool wraps = true);

/// An index tensor as i64 or i32.
Value asIndex(Node &n, Value index);

} // namespace tilewright

#endif
