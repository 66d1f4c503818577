//===- EmitPtx.h - kernels of the llvm and nvvm dialects as PTX -------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_EMITPTX_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_EMITPTX_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

/// Returns the kernels of `module` as PTX for `arch`. LLVM's NVPTX backend generates the PTX in this process. If
/// `locations` is true, the PTX has the user's source lines (AttachLocations.h). There is no library of PTX functions,
/// so a kernel that calls one is an error, which contains the name of the function.
llvm::Expected<std::string> emitPtx(mlir::ModuleOp module, const Arch &arch, bool locations);

} // namespace tilewright::cuda

#endif
