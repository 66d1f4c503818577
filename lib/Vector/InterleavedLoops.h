//===- InterleavedLoops.h - ops whose innermost loop is a few elements -----------===//
#ifndef TILEWRIGHT_LIB_VECTOR_INTERLEAVEDLOOPS_H
#define TILEWRIGHT_LIB_VECTOR_INTERLEAVEDLOOPS_H

#include "lib/Vector/LoopVectorizer.h"

namespace tilewright::vector_stage {

/// Replaces `op` (on memrefs, all loops parallel) by loops over vectors along its last loop but one, if its results
/// have but a few elements along the last and lie in one piece along both; false, and nothing is changed, if not.
bool emitInterleavedLoops(mlir::linalg::LinalgOp op, int64_t lanes);

} // namespace tilewright::vector_stage

#endif
