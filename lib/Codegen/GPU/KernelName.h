//===- KernelName.h - names of kernels for profilers ------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_KERNELNAME_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_KERNELNAME_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::gpu {

/// Returns a name with the ops and the sizes of `kernel`, such as "matmul_add_gelu_4096x3072x768" for the kernel
/// @matmul_add_gelu_6. The sizes are those of the kernel's product (rows, columns and terms, after the number of
/// products if there are several), or else of its largest result. A symbolic size is `n`. The name does not depend on
/// the position of the kernel in the graph, so two kernels may have the same name.
std::string speakingName(mlir::func::FuncOp kernel);

} // namespace tilewright::gpu

#endif
