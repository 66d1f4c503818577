//===- TurnedKernel.h - products on tiles of an A that lies k x rows -----------------===//
//
// The gradient of a weight is a product over the pixels (or tokens) of an image with rows and filters side by side: A's
// rows are neighbours and its k are not, and a tile of A wants 32 k of a row. Block of k by block of k, A's rows are
// turned into the kernel's stack frame for all panels of the task, 16 rows by 16 pairs of k in registers:
//   A in memory: [k][row]        in the frame: [row][k], k padded with zeros to whole tiles
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_TURNEDKERNEL_H
#define TILEWRIGHT_LIB_TARGET_CPU_TURNEDKERNEL_H

#include "lib/Target/CPU/MicroKernel.h"

namespace tilewright::cpu {

/// Whether A of `access` lies so: of 16 bits, and one run of k.
bool liesTurned(const BlockAccess &access);

/// Emits the product of `rows` rows with all panels of B, packed in pairs of k padded to 32; `panel` is 16 or 32
/// columns.
void emitTurnedPanels(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, mlir::OpFoldResult rows,
                      int64_t panel);

} // namespace tilewright::cpu

#endif
