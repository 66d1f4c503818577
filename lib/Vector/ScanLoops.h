//===- ScanLoops.h - running sums and extremes as loops ---------------------------===//
#ifndef TILEWRIGHT_LIB_VECTOR_SCANLOOPS_H
#define TILEWRIGHT_LIB_VECTOR_SCANLOOPS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::vector_stage {

/// Replaces a scan on buffers by loops.
void expandScan(tile::ScanOp scan);

} // namespace tilewright::vector_stage

#endif
