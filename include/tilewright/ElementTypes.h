//===- ElementTypes.h - properties of element types that every stage reads -------------===//
#ifndef TILEWRIGHT_ELEMENTTYPES_H
#define TILEWRIGHT_ELEMENTTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace tilewright {

/// Returns true for the supported 8-bit floats, and for tensors, memrefs and vectors of them.
inline bool isFloat8(mlir::Type type) {
  return mlir::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(mlir::getElementTypeOrSelf(type));
}

} // namespace tilewright

#endif
