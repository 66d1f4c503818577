//===- ScanLoops.h - lowers running sums and maxima to loops ----------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_SCANLOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_SCANLOOPS_H

#include "dialects/Tile/Combiner.h"

namespace tilewright::vector_stage {

/// Replaces a scan on buffers by loops.
void expandScan(tile::ScanOp scan);

} // namespace tilewright::vector_stage

#endif
