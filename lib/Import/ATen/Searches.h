//===- Searches.h - binary searches in sorted rows ----------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_SEARCHES_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_SEARCHES_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// Returns for each element of `values` [..., m] the number of elements of the sorted `rows` [..., n] that precede it.
/// With `right`, equal elements precede it, too. The leading dimensions are equal, or `rows` has rank 1. Refuses rows
/// of a symbolic size that may be 0 or has no known maximum.
Value countBefore(Node &n, Value rows, Value values, bool right);

} // namespace tilewright

#endif
