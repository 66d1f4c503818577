//===- FixedValues.h - values that are the same at every call ---------------------------===//
#ifndef TILEWRIGHT_LIB_KERNELS_FIXEDVALUES_H
#define TILEWRIGHT_LIB_KERNELS_FIXEDVALUES_H

#include "mlir/IR/Value.h"

namespace tilewright::structured {

/// Returns true for parameters, constants and values that are computed from these alone. A kernel of such values runs
/// once (--tw-resolve-layouts).
bool isFixed(mlir::Value value);

} // namespace tilewright::structured

#endif
