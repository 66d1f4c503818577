//===- ContractionForm.h - the contractions that tw_tile.matmul expresses -----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CONTRACTIONFORM_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_CONTRACTIONFORM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::tiled {

/// For each operand of a contraction, the operand's dimensions in canonical order: b..., m, k for A, and b..., k, n for
/// B (k, n if B is not batched).
struct ContractionForm {
  mlir::SmallVector<int64_t> lhsPermutation, rhsPermutation;
  bool batchedRhs = false;
};

/// Returns the form of `op` if tw_tile.matmul can express it, otherwise sets `reason`.
std::optional<ContractionForm> formOf(mlir::linalg::ContractOp op, std::string &reason);

/// Returns the panel width in elements for `n` columns. The width is `lanes` times one of the numbers in `vectors`. The
/// width with the lowest cost is selected, or the first of several such widths. The cost is the padded number of
/// columns, plus 3% for each vector by which the width is less than the first width, because small panels read more
/// elements of A per product. If `n` is symbolic, the first width is selected.
int64_t panelFor(mlir::AffineExpr n, int64_t lanes, mlir::ArrayRef<int64_t> vectors);

} // namespace tilewright::tiled

#endif
