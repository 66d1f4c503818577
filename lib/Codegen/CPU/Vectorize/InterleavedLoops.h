//===- InterleavedLoops.h - ops whose innermost loop has few iterations ----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_INTERLEAVEDLOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_INTERLEAVEDLOOPS_H

#include "lib/Codegen/CPU/Vectorize/LoopVectorizer.h"

namespace tilewright::vector_stage {

/// Replaces `op` (on memrefs, all loops parallel) by loops over vectors along its second-to-last loop. The results of
/// `op` must have few elements along the last loop, and be contiguous along both loops. Otherwise returns false and
/// changes nothing.
bool emitInterleavedLoops(mlir::linalg::LinalgOp op, int64_t lanes);

} // namespace tilewright::vector_stage

#endif
