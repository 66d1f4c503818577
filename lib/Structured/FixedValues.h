//===- FixedValues.h - what is the same at every call ---------------------------------===//
#ifndef TILEWRIGHT_STRUCTURED_FIXEDVALUES_H
#define TILEWRIGHT_STRUCTURED_FIXEDVALUES_H

#include "mlir/IR/Value.h"

namespace tilewright::structured {

/// True for parameters, constants and what is computed from them alone: a kernel of it runs once
/// (--tw-resolve-layouts).
bool isFixed(mlir::Value value);

} // namespace tilewright::structured

#endif
