//===- CheckReference.h - compare every kernel with the reference target --------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_CHECKREFERENCE_H
#define TILEWRIGHT_LIB_DRIVER_CHECKREFERENCE_H

#include "tilewright/Compiler.h"
#include "tilewright/Target.h"

namespace tilewright {

/// Compiles a program for `target` like compileChecked(), which compares the results of each of its kernels with those
/// of the same target with the options `defaults`, for example with default schedules. A device computes both, so large
/// kernels can be compared. Errors that both have in common are not found.
llvm::Expected<std::shared_ptr<Program>> compileCompared(mlir::ModuleOp module, Target &target, const Options &options,
                                                         const Options &defaults);

/// Compiles a program for `target` that compares the results of each of its kernels with those of the reference in
/// every call. If a result is not within its error bound (CompareKernels.h), the call fails, and the error names the
/// kernel. `module` is at the end of the structured stage; `options` are for `target`.
llvm::Expected<std::shared_ptr<Program>> compileChecked(mlir::ModuleOp module, Target &target, const Options &options);

} // namespace tilewright

#endif
