//===- WindowKernels.h - grouped convolutions and the depthwise gradient ---------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_WINDOWKERNELS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_WINDOWKERNELS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::cpu {

/// Each function replaces `op` (on memrefs) by loops over vectors of at most `lanes` f32 elements, or half as many f64
/// elements. `registers` is the number of vector registers of the machine.
void expandGroupedConvolution(tile::GroupedConvolutionOp op, int64_t lanes, int64_t registers);
void expandDepthwiseGradient(tile::DepthwiseGradientOp op, int64_t lanes, int64_t registers);

} // namespace tilewright::cpu

#endif
