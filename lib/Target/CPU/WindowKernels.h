//===- WindowKernels.h - convolutions of narrow groups, and a gradient of theirs -------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_WINDOWKERNELS_H
#define TILEWRIGHT_LIB_TARGET_CPU_WINDOWKERNELS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::cpu {

/// Each replaces `op` (on memrefs) by loops of vectors of `lanes` f32 with `registers` vector registers.
void expandGroupedConvolution(tile::GroupedConvolutionOp op, int64_t lanes, int64_t registers);
void expandDepthwiseGradient(tile::DepthwiseGradientOp op, int64_t lanes, int64_t registers);

} // namespace tilewright::cpu

#endif
