//===- AttachLocations.h - the user's lines as debug locations of kernels -----------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_ATTACHLOCATIONS_H
#define TILEWRIGHT_LIB_TARGET_CUDA_ATTACHLOCATIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// Gives every llvm.func of `module` a debug scope and every operation in it the file and line of the user's that its
/// location names, so that the PTX has .file and .loc directives; operations without one keep none. Line directives
/// alone are asked for: no debug sections, and a target without `debug`.
void attachLocations(mlir::ModuleOp module);

} // namespace tilewright::cuda

#endif
