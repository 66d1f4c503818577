//===- SplitKernel.h - products of f16 on AMX tiles of bf16 ------------------------===//
//
// An f16 number x has 11 significant bits. A bf16 number has 8 significant bits, and the exponent range of f32.
// Therefore, x is exactly the sum of two bf16 numbers, high + low. The sum in f32 of four products of bf16 tiles (high
// x high, high x low, low x low, low x high) equals the product of f16 tiles that tdpfp16ps computes, except for the
// rounding of the sums. For each K-block, the parts of A's rows and of a panel of B are stored in the kernel's stack
// frame:
//   A: [row][32 high, 32 low, 32 high, ...]        B: [16 rows of pairs of high, 16 of low, ...][panel * 2]
//
// If x is infinite, x - high is NaN. If x - high is zero, its product with infinity would be NaN. In both cases, `low`
// is x * 2^-100 instead, which has the sign of x and is infinite if x is infinite. This adds less than 2^-66 to each
// product. Exact sums of products of f16 numbers are multiples of 2^-48, so results with an absolute value below 2^-60
// are set to zero. Neither part is a bf16 denormal, which AMX tiles would flush to zero.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_SPLITKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_SPLITKERNEL_H

#include "lib/Codegen/CPU/MicroKernels/MicroKernel.h"

namespace tilewright::cpu {

/// Emits C = A B for the first `rows` rows of A and all panels of B. The operands are f16. B is packed in pairs along
/// k, K is padded with zeros to a multiple of 32, and `panel`, the width of a panel, is 16 or 32 columns. The product
/// has only one reduction loop.
void emitSplitPanels(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
                     int64_t panel);

} // namespace tilewright::cpu

#endif
