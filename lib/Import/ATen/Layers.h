//===- Layers.h - layers that are part of larger operators -------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_LAYERS_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_LAYERS_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Returns x weight^T + bias, where the columns of `x` are its last dimension. `bias` may be null.
Value linearOf(Node &n, Value x, Value weight, Value bias);

/// Normalizes each row of the last `rank` dimensions of `x`. `weight` and `bias` may be null. The mean and the
/// reciprocal standard deviation have the element type `statistics`.
LayerNormOp layerNormOf(Node &n, Value x, Value weight, Value bias, int64_t rank, double eps, Type statistics);

/// Returns softmax(query key^T / sqrt(head size)) value. All operands have rank 4. `mask` is true for the keys that a
/// query attends to, and broadcasts to [batch, heads, queries, keys]. If it is null, each query attends to all keys.
/// The result is 0 for a query without keys.
Value attentionOf(Node &n, Value query, Value key, Value value, Value mask);

} // namespace tilewright

#endif
