//===- ScatterLoops.h - lowers scatters to loops -----------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_SCATTERLOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_SCATTERLOOPS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::vector_stage {

/// Replaces a scatter on buffers by loops. If rowProducerOf() finds an op whose rows only the scatter reads, fuses the
/// op into the scatter.
void expandScatter(tile::ScatterOp scatter);

} // namespace tilewright::vector_stage

#endif
