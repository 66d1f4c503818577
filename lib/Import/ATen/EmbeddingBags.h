//===- EmbeddingBags.h - parts of bags of rows and of their gradients ---------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_EMBEDDINGBAGS_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_EMBEDDINGBAGS_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Modes of embedding_bag.
inline constexpr int64_t sumMode = 0, meanMode = 1, maxMode = 2;

/// Returns the bag of each of `count` elements, as i32 if `count` is known to be below 2^31, otherwise as i64.
Value bagsOf(Node &n, Value offsets, AffineExpr count);

/// Returns max(counts, 1) as a column of the type `element`.
Value divisors(Node &n, Value counts, Type element);

/// Returns a column of booleans that are false for the elements with the index `padding`.
Value notPadding(Node &n, Value indices, int64_t padding);

/// Returns `rows` with zeros in the rows of elements with the index `padding`, if it is not negative.
Value withoutPadding(Node &n, Value rows, Value indices, int64_t padding);

/// Returns `rows` multiplied by the weights of the elements, if there are any.
Value weightedRows(Node &n, Value rows, Value perSample);

} // namespace tilewright

#endif
