//===- Losses.h - reductions of losses ------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_LOSSES_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_LOSSES_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

/// The numbers of torch.nn._reduction.get_enum for reduction="none" and "mean". The number of "sum" is 2.
constexpr int64_t noReduction = 0, meanReduction = 1;

/// Returns the sum or the mean of all elements, or the elements themselves, in the element type of the node's result.
Value reducedLoss(Node &n, Value loss, int64_t reduction);

} // namespace tilewright

#endif
