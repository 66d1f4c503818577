//===- ContractionForm.h - the contractions that tw_tile.matmul expresses -----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CONTRACTIONFORM_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CONTRACTIONFORM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::tiled {

/// The dimensions of a contraction's operands that its loops index, in the canonical orders b..., m, k and b..., k, n.
struct ContractionForm {
  mlir::SmallVector<int64_t> lhsPermutation, rhsPermutation;
  bool batchedRhs = false;
};

/// Returns the form of `op` if tw_tile.matmul can express it, otherwise sets `reason`.
std::optional<ContractionForm> formOf(mlir::linalg::ContractOp op, std::string &reason);

/// Returns the panel width in elements for `n` columns. It is `lanes` times one of the numbers in `vectors`, which
/// starts with the largest. The selected width has the least padding. For each vector less than the largest number, 3%
/// is added to the padding, because small panels read more elements of the left-hand side per product. If `n` is
/// symbolic, the width is the largest.
int64_t panelFor(mlir::AffineExpr n, int64_t lanes, mlir::ArrayRef<int64_t> vectors);

} // namespace tilewright::tiled

#endif
