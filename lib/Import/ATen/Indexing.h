//===- Indexing.h - conversion of index lists for tw.take and tw.put ----------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_INDEXING_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_INDEXING_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// The operands of a tw.take or tw.put: the indexed tensor is permuted by `order`, and `indices` are the index tensors
/// of its dimensions from `dim` on.
struct IndexPlan {
  SmallVector<int64_t> order; ///< dimensions of the indexed tensor; the identity if the indexed dimensions are adjacent
  SmallVector<Value> indices;
  int64_t dim = 0;
  bool permuted() const { return !llvm::is_sorted(order); }
};

/// Converts the list of index tensors of aten.index, in which None selects a whole dimension. Refuses boolean masks.
IndexPlan planIndices(Node &n, Value tensor, ArrayRef<Value> indices);

/// Emits tw.take of `tensor` at the index tensors of its dimensions from `dim` on. With `wraps`, negative indices count
/// from the end.
Value take(Node &n, Value tensor, ArrayRef<Value> indices, int64_t dim, bool wraps = true);

/// Emits tw.gather of `x` at `indices` along `dim`, as torch.gather. As in eager, negative indices are errors.
Value gatherAlong(Node &n, Value x, Value indices, int64_t dim);

/// Emits tw.scatter, which combines `source` with the elements of `x` at `indices` along `dim`, as torch.scatter. As in
/// eager, negative indices are errors.
Value scatterAlong(Node &n, Value x, Value indices, Value source, int64_t dim, ScatterKind kind);

/// Emits tw.put, which combines slice k of `source` along `dim` with the slice of `x` at element k of `index`. As in
/// eager, negative indices are errors.
Value putAlong(Node &n, Value x, Value index, Value source, int64_t dim, ScatterKind kind);

/// Returns a constant of i64 elements, in row-major order.
Value constantIndices(Node &n, ArrayRef<int64_t> values, ArrayRef<int64_t> shape);

/// Converts an index tensor to i64 unless it is i32. Refuses masks of i1 or u8.
Value asIndex(Node &n, Value index);

} // namespace tilewright

#endif
