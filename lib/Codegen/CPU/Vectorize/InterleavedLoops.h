//===- InterleavedLoops.h - ops whose innermost loop has few iterations ----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_INTERLEAVEDLOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_INTERLEAVEDLOOPS_H

#include "lib/Codegen/CPU/Vectorize/LoopVectorizer.h"

namespace tilewright::vector_stage {

/// Replaces `op` (on memrefs, all loops parallel) by loops over vectors along the second-to-last dimension of its
/// results. The last dimension must have few elements, the last two dimensions must be contiguous in memory, and the
/// body must be short and have a vector form. Otherwise returns false and changes nothing.
bool emitInterleavedLoops(mlir::linalg::LinalgOp op, int64_t lanes);

} // namespace tilewright::vector_stage

#endif
