//===- ScatterLoops.h - lowers scatters to loops -----------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_SCATTERLOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_SCATTERLOOPS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::vector_stage {

/// Replaces a scatter on buffers by loops, and fuses the op that computes its rows if nothing else reads them.
void expandScatter(tile::ScatterOp scatter);

} // namespace tilewright::vector_stage

#endif
