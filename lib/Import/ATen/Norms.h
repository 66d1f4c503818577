//===- Norms.h - vector norms ----------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_NORMS_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_NORMS_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Returns the `order`-norm of `x` over `dims`, in the type `compute`. The norm of order infinity is the largest
/// magnitude, the norm of order -infinity is the smallest magnitude, and the norm of order 0 is the number of nonzero
/// elements.
Value normOf(Node &n, Value x, double order, ArrayRef<int64_t> dims, bool keepdim, Type compute);

} // namespace tilewright

#endif
