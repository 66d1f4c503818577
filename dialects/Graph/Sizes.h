//===- Sizes.h - products of symbolic sizes and what a reshape does to them ---===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_SIZES_H
#define TILEWRIGHT_DIALECTS_GRAPH_SIZES_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright::graph {

/// True when the products of the sizes are the same.
bool sameNumElements(llvm::ArrayRef<mlir::AffineExpr> a, llvm::ArrayRef<mlir::AffineExpr> b);

/// One step of a reshape: these neighbouring dimensions become those; the products of their sizes are equal.
struct ReshapeGroup {
  llvm::SmallVector<int64_t, 2> from, to;
};

/// The finest grouping that explains the reshape; empty when only the total number of elements is known to agree.
/// Unit dimensions at the end join the last group. Shapes of rank 0 give no groups and have no need of them.
llvm::SmallVector<ReshapeGroup> reshapeGroups(llvm::ArrayRef<mlir::AffineExpr> from,
                                              llvm::ArrayRef<mlir::AffineExpr> to);

/// The range of `expr`, from those of its symbols by their numbers; infinite where nothing is known.
std::pair<double, double> rangeOf(mlir::AffineExpr expr,
                                  llvm::function_ref<std::pair<double, double>(unsigned)> rangeOfSymbol);

} // namespace tilewright::graph

#endif
