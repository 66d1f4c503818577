//===- AttachLocations.h - the user's source lines as debug locations of kernels ----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTACHLOCATIONS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTACHLOCATIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// Gives every llvm.func of `module` a debug scope, and every operation in it the user's file and line from its
/// location. The PTX then has .file and .loc directives. Operations without a user location get none. Only line
/// directives are emitted: no debug sections, and no `debug` in the PTX target.
void attachLocations(mlir::ModuleOp module);

} // namespace tilewright::cuda

#endif
