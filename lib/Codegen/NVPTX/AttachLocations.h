//===- AttachLocations.h - the user's source lines as debug locations of kernels ----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTACHLOCATIONS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTACHLOCATIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// Adds a debug scope to every llvm.func of `module`, and the user's file and line to every operation in it whose
/// location has them. The PTX then has .file and .loc directives. Only these directives are emitted: no debug sections,
/// and no `debug` in the PTX target.
void attachLocations(mlir::ModuleOp module);

} // namespace tilewright::cuda

#endif
