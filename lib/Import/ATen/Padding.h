//===- Padding.h - pads of zeros -------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_PADDING_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_PADDING_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Adds `low` zeros before and `high` zeros after the elements of a tensor of floats along the dimension `dim`.
Value padWithZeros(Node &n, Value x, int64_t dim, int64_t low, int64_t high);

} // namespace tilewright

#endif
