//===- Random.h - random numbers ----------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_RANDOM_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_RANDOM_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Returns the type in which samples of type `element` are computed: f64 for f64, otherwise f32.
inline Type sampleType(Node &n, Type element) { return element.isF64() ? element : n.f32(); }

/// Emits a tw.random op. Each such op of a graph has a separate stream of random numbers.
Value drawRandom(Node &n, RandomKind kind, ArrayRef<AffineExpr> sizes, Type element);

} // namespace tilewright

#endif
