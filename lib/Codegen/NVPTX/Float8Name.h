//===- Float8Name.h - names of 8-bit floats in PTX --------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_FLOAT8NAME_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_FLOAT8NAME_H

#include "mlir/IR/BuiltinTypes.h"

namespace tilewright::cuda {

/// Returns the PTX name of `type`, an 8-bit float that tensor cores multiply.
inline llvm::StringRef ptxName(mlir::Type float8) {
  return mlir::isa<mlir::Float8E4M3FNType>(float8) ? "e4m3" : "e5m2";
}

} // namespace tilewright::cuda

#endif
