//===- EmitPtx.h - kernels of the llvm and nvvm dialects as PTX -------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_EMITPTX_H
#define TILEWRIGHT_LIB_TARGET_CUDA_EMITPTX_H

#include "lib/Target/CUDA/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// The kernels of `module` as PTX for `arch`, by LLVM's NVPTX backend in this process. Functions that PTX does not have
/// (a call of a library) are an error that names them.
llvm::Expected<std::string> emitPtx(mlir::ModuleOp module, const Arch &arch, bool locations);

} // namespace tilewright::cuda

#endif
