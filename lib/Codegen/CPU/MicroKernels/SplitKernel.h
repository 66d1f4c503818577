//===- SplitKernel.h - products of f16 on AMX tiles of bf16 ------------------------===//
//
// An f16 number x has 11 significant bits, a bf16 number 8, with the exponent range of f32: x = high + low, both bf16,
// exactly. Four products of tiles (high x high, high x low, low x low, low x high), summed in f32, are the product of
// f16 numbers as tdpfp16ps computes it. For each K-block, A's rows and a panel of B are split into the kernel's stack
// frame:
//   A: [row][32 high, 32 low, 32 high, ...]        B: [16 rows of pairs of high, 16 of low, ...][panel * 2]
//
// Infinity * 0 is NaN. Therefore, if the rest is zero or the number infinite, `low` is x * 2^-100 instead, which has
// the sign of x and is infinite if x is. This adds less than 2^-60 to a sum, and sums of products of f16 numbers are
// multiples of 2^-48: results below 2^-60 are set to zero. No part is a bf16 denormal, which tiles would flush to
// zero.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_SPLITKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_SPLITKERNEL_H

#include "lib/Codegen/CPU/MicroKernels/MicroKernel.h"

namespace tilewright::cpu {

/// Emits the product of `rows` rows of f16 numbers with all panels of B, packed in pairs of k padded to 32; `panel` is
/// 16 or 32 columns. There is one reduction loop.
void emitSplitPanels(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
                     int64_t panel);

} // namespace tilewright::cpu

#endif
