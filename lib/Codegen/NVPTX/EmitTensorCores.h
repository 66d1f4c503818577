//===- EmitTensorCores.h - kernels that use NVIDIA's tensor cores ------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_EMITTENSORCORES_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_EMITTENSORCORES_H

#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/GPU/ThreadKernel.h"

namespace tilewright::cuda {

/// Each function emits the body of a kernel. It reports errors at the function `kernel.from` or at an op in it.
mlir::LogicalResult emitMma(gpu::ThreadKernel &kernel);
mlir::LogicalResult emitWgmma(gpu::ThreadKernel &kernel);
mlir::LogicalResult emitAttention(gpu::ThreadKernel &kernel);
mlir::LogicalResult emitWarpGroupAttention(gpu::ThreadKernel &kernel);
/// Emit the gradient of attention with the schedule `attention`: the first function without consumer warp groups, the
/// second with them.
mlir::LogicalResult emitAttentionGradient(gpu::ThreadKernel &kernel, const gpu::AttentionGradient &gradient);
mlir::LogicalResult emitWarpGroupGradient(gpu::ThreadKernel &kernel, const gpu::AttentionGradient &gradient);

} // namespace tilewright::cuda

#endif
