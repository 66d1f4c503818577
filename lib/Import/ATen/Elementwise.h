//===- Elementwise.h - elementwise functions that several importers emit ----------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_ELEMENTWISE_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_ELEMENTWISE_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Returns `x` to the power `exponent`. Emits no op for the exponent 1, products for 2 and 3, for floats a root or a
/// reciprocal for 0.5, -0.5 and -1, and otherwise tw.pow.
Value powerOf(Node &n, Value x, double exponent);

/// Returns log(exp(a) + exp(b)). The operands are broadcast.
Value logAddExp(Node &n, Value a, Value b);

} // namespace tilewright

#endif
