//===- SplitKernel.h - products of f16 on AMX tiles of bf16 ------------------------===//
//
// An f16 number x has 11 significant bits, a bf16 number 8, and the exponents of f32: x = high + low, both bf16,
// exactly. Four products of tiles (high x high, high x low, low x low, low x high), summed in f32, are the product of
// f16 numbers as tdpfp16ps computes it. Block of k by block of k, A's rows and a panel of B are split into the kernel's
// stack frame:
//   A: [row][32 high, 32 low, 32 high, ...]        B: [16 rows of pairs of high, 16 of low, ...][panel * 2]
//
// Infinity * 0 is NaN: where the rest is zero, or the number infinite, `low` is x * 2^-100 instead, of x's sign and
// infinite where x is. What that adds to a sum is below 2^-60, and sums of products of f16 numbers are multiples of
// 2^-48: results below 2^-60 are zero. No part is a bf16 denormal, which tiles would flush.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_SPLITKERNEL_H
#define TILEWRIGHT_LIB_TARGET_CPU_SPLITKERNEL_H

#include "lib/Target/CPU/MicroKernel.h"

namespace tilewright::cpu {

/// Emits the product of `rows` rows of f16 numbers with all panels of B, packed in pairs of k padded to 32; `panel` is
/// 16 or 32 columns. One reduction loop.
void emitSplitPanels(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
                     int64_t panel);

} // namespace tilewright::cpu

#endif
