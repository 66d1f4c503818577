//===- TransposedLoops.h - elementwise ops with transposed operands --------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_TRANSPOSEDLOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_TRANSPOSEDLOOPS_H

#include "lib/Codegen/CPU/Vectorize/LoopVectorizer.h"

namespace tilewright::vector_stage {

/// Replaces `op` (on memrefs, all loops parallel) by loops over square blocks of `lanes` x `lanes` elements. The
/// results of `op` must be contiguous along one loop. At least one input must be gathered along this loop, all such
/// inputs must be contiguous along a second loop, both loops must have more than one iteration, and the body must be
/// short. Otherwise returns false and changes nothing.
bool emitTransposedLoops(mlir::linalg::LinalgOp op, int64_t lanes);

} // namespace tilewright::vector_stage

#endif
