//===- NameEntries.h - names of the kernels in PTX ---------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_NAMEENTRIES_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_NAMEENTRIES_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cuda {

/// Attribute of a kernel (string): its name in PTX, which need not be unique (lib/Codegen/GPU/KernelName.h).
inline constexpr llvm::StringLiteral entryAttrName = "tw_cuda.entry";

/// Gives each kernel its name in PTX. `module` must be lowered to the llvm dialect. If several kernels have the same
/// name, numbers are appended: _2, _3, ... The launches of the plan are changed accordingly.
void nameEntries(mlir::ModuleOp module);

} // namespace tilewright::cuda

#endif
