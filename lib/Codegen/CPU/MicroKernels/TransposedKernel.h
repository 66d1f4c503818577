//===- TransposedKernel.h - products on tiles of a transposed A (k x rows) ---------------===//
//
// The gradient of a weight is a product whose reduction dimension k consists of the pixels of the images or of the
// tokens. A is contiguous along its rows and not along k, but a tile of A needs 32 elements of a row that are
// contiguous along k. For each K-block, A is transposed in registers, in blocks of 16 rows by 16 pairs of k, and stored
// in the kernel's stack frame. All panels of the task use this copy:
//   A in memory: [k][row]        copy in the stack frame: [row][k], k padded with zeros to whole tiles
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_TRANSPOSEDKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_TRANSPOSEDKERNEL_H

#include "lib/Codegen/CPU/MicroKernels/MicroKernel.h"

namespace tilewright::cpu {

/// Returns true if A is contiguous along its rows (elements with the same k) and not along k, A has 16-bit elements,
/// and every reduction loop but the innermost has one iteration.
bool isTransposed(const BlockAccess &access);

/// Emits C = A B for the first `rows` rows of A and all panels of B. B is packed in pairs along k, and K is padded with
/// zeros to a multiple of 32. `panel`, the width of a panel, is 16 or 32 columns.
void emitTransposedPanels(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access,
                          mlir::OpFoldResult rows, int64_t panel);

} // namespace tilewright::cpu

#endif
