//===- SplitF32.h - products of f32 as products of bf16 parts --------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITF32_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SPLITF32_H

#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::gpu {

/// Divides the operands of large f32 products into bf16 parts, if the product of the parts has the schedule `wgmma` and
/// takes less time, and sets this schedule. Products that read the same operand read the same parts.
void splitF32(mlir::ModuleOp module, const Arch &arch);

} // namespace tilewright::gpu

#endif
