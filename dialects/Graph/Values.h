//===- Values.h - types and sizes of the graph's values --------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_VALUES_H
#define TILEWRIGHT_DIALECTS_GRAPH_VALUES_H

#include "dialects/Graph/Graph.h"

namespace tilewright::graph {

inline mlir::RankedTensorType tensorOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::SmallVector<mlir::AffineExpr> sizesOf(mlir::Value value) { return sizesOf(tensorOf(value)); }
inline mlir::Type elementOf(mlir::Value value) { return tensorOf(value).getElementType(); }
inline int64_t rankOf(mlir::Value value) { return tensorOf(value).getRank(); }

/// Returns true if a size is the constant 1.
inline bool isUnitSize(mlir::AffineExpr size) {
  auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(size);
  return constant && constant.getValue() == 1;
}

} // namespace tilewright::graph

#endif
