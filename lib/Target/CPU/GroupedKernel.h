//===- GroupedKernel.h - convolutions of narrow groups ---------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_GROUPEDKERNEL_H
#define TILEWRIGHT_LIB_TARGET_CPU_GROUPEDKERNEL_H

#include "dialects/Tile/Tile.h"

namespace tilewright::cpu {

/// Replaces `op` (on memrefs) by loops of vectors of `lanes` f32 with `registers` vector registers.
void expandGroupedConvolution(tile::GroupedConvolutionOp op, int64_t lanes, int64_t registers);

} // namespace tilewright::cpu

#endif
