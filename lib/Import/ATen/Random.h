//===- Random.h - random numbers ----------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_RANDOM_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_RANDOM_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Emits tw.random, which has a separate stream of random numbers.
Value drawRandom(Node &n, RandomKind kind, ArrayRef<AffineExpr> sizes, Type element);

} // namespace tilewright

#endif
