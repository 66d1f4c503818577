//===- SplitKernel.h - products of f16 on AMX tiles of bf16 ------------------------===//
//
// An f16 number x has 11 significant bits. A bf16 number has 8 significant bits, and the exponent range of f32.
// Therefore, x is exactly the sum of two bf16 numbers, high + low. The sum in f32 of four products of bf16 tiles (high
// x high, high x low, low x low, low x high) equals the product of f16 tiles that tdpfp16ps computes. For each K-block,
// A's rows and a panel of B are split into the kernel's stack frame:
//   A: [row][32 high, 32 low, 32 high, ...]        B: [16 rows of pairs of high, 16 of low, ...][panel * 2]
//
// If x is infinite, the low part would be NaN, and if the low part is zero, its product with infinity would be NaN. In
// both cases, `low` is x * 2^-100 instead: it has the sign of x and is infinite if x is. This adds less than 2^-60 to a
// sum. Exact sums of products of f16 numbers are multiples of 2^-48, so results below 2^-60 are set to zero. No part is
// a bf16 denormal, which tiles would flush to zero.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_SPLITKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_SPLITKERNEL_H

#include "lib/Codegen/CPU/MicroKernels/MicroKernel.h"

namespace tilewright::cpu {

/// Emits the product of `rows` rows of f16 numbers with all panels of B, which is packed in pairs of k and padded to a
/// multiple of 32 k. `panel` is 16 or 32 columns. The product has one reduction loop.
void emitSplitPanels(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
                     int64_t panel);

} // namespace tilewright::cpu

#endif
