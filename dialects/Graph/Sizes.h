//===- Sizes.h - products of symbolic sizes, and dimension groups of reshapes ---===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_SIZES_H
#define TILEWRIGHT_DIALECTS_GRAPH_SIZES_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright::graph {

/// Returns true if the product of the sizes `a` equals the product of the sizes `b`.
bool sameNumElements(llvm::ArrayRef<mlir::AffineExpr> a, llvm::ArrayRef<mlir::AffineExpr> b);

/// A group of a reshape: the adjacent dimensions `from` become the dimensions `to`, with an equal product of sizes.
struct ReshapeGroup {
  llvm::SmallVector<int64_t, 2> from, to;
};

/// Returns the grouping with the most groups that describes the reshape, or an empty list if only the total numbers of
/// elements are known to be equal. Trailing unit dimensions belong to the last group. The list is also empty if a shape
/// has rank 0.
llvm::SmallVector<ReshapeGroup> reshapeGroups(llvm::ArrayRef<mlir::AffineExpr> from,
                                              llvm::ArrayRef<mlir::AffineExpr> to);

/// Returns the range of `expr` for the given ranges of its symbols, which are indexed by their numbers. Unknown bounds
/// are infinite.
std::pair<double, double> rangeOf(mlir::AffineExpr expr,
                                  llvm::function_ref<std::pair<double, double>(unsigned)> rangeOfSymbol);

} // namespace tilewright::graph

#endif
