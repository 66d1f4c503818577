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

/// Returns the panel width in elements for `n` columns: `lanes` times one of the numbers of vectors in `vectors`, which
/// starts with the largest. The selected width has the least padding; each vector less than the largest counts as 3%
/// more padding, because narrow panels read more of the left-hand side per product. The width is the largest if `n` is
/// symbolic.
int64_t panelFor(mlir::AffineExpr n, int64_t lanes, mlir::ArrayRef<int64_t> vectors);

} // namespace tilewright::tiled

#endif
