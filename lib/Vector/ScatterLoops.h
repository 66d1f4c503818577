//===- ScatterLoops.h - writes to places that indices say, as loops ----------------===//
#ifndef TILEWRIGHT_LIB_VECTOR_SCATTERLOOPS_H
#define TILEWRIGHT_LIB_VECTOR_SCATTERLOOPS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::vector_stage {

/// Replaces a scatter on buffers by loops, and what makes its rows for it alone with it.
void expandScatter(tile::ScatterOp scatter);

} // namespace tilewright::vector_stage

#endif
