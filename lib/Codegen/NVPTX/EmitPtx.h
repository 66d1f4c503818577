//===- EmitPtx.h - kernels of the llvm and nvvm dialects as PTX -------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_EMITPTX_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_EMITPTX_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

/// Returns the kernels of `module` as PTX for `arch`, which LLVM's NVPTX backend generates in this process. If
/// `locations`, the PTX has the user's source lines (AttachLocations.h). PTX has no library functions. If a kernel
/// calls one, returns an error with the name of the function.
llvm::Expected<std::string> emitPtx(mlir::ModuleOp module, const Arch &arch, bool locations);

} // namespace tilewright::cuda

#endif
