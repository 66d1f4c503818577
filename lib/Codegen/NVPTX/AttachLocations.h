//===- AttachLocations.h - the user's source lines as debug locations of kernels ----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTACHLOCATIONS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTACHLOCATIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// Adds a debug scope to every llvm.func of `module` that has a body. Adds the user's file and line to each of its ops;
/// an op whose location has no file gets line 0. The PTX then has the directives .file and .loc, but neither debug
/// sections nor `debug` in its target.
void attachLocations(mlir::ModuleOp module);

} // namespace tilewright::cuda

#endif
