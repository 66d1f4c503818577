//===- Elementwise.h - functions that importers of other families compute --------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_ELEMENTWISE_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_ELEMENTWISE_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Returns `x` to the power `exponent`, as a product, a root or a reciprocal if the exponent is one of a few small
/// numbers.
Value powerOf(Node &n, Value x, double exponent);

/// Returns log(exp(a) + exp(b)) of two values of the same shape.
Value logAddExp(Node &n, Value a, Value b);

} // namespace tilewright

#endif
