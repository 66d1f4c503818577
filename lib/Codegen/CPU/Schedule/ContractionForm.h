//===- ContractionForm.h - the contractions that tw_tile.matmul expresses -----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CONTRACTIONFORM_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CONTRACTIONFORM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::tiled {

/// The positions of a contraction's loops in its operands, in canonical order b..., m, k and b..., k, n.
struct ContractionForm {
  mlir::SmallVector<int64_t> lhsPermutation, rhsPermutation;
  bool batchedRhs = false;
};

/// Returns the form of `op` if tw_tile.matmul can express it, otherwise sets `reason`.
std::optional<ContractionForm> formOf(mlir::linalg::ContractOp op, std::string &reason);

/// Returns the panel width in elements for `n` columns: `lanes` times one of `vectors`, which are numbers of vectors
/// with the largest one first. The choice has the least padding; a panel that is one vector narrower counts as 3% more
/// padding, because narrow panels read more of the left-hand side per product. The width is the largest if `n` is
/// symbolic.
int64_t panelFor(mlir::AffineExpr n, int64_t lanes, mlir::ArrayRef<int64_t> vectors);

} // namespace tilewright::tiled

#endif
