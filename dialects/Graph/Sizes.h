//===- Sizes.h - products of symbolic sizes, and dimension groups of reshapes ---===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_SIZES_H
#define TILEWRIGHT_DIALECTS_GRAPH_SIZES_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright::graph {

/// Returns true if the products of the sizes `a` and of the sizes `b` are known to be equal, because they have the same
/// normal form.
bool sameNumElements(llvm::ArrayRef<mlir::AffineExpr> a, llvm::ArrayRef<mlir::AffineExpr> b);

/// A group of a reshape: the adjacent dimensions `from` become the dimensions `to`, with an equal product of sizes.
struct ReshapeGroup {
  llvm::SmallVector<int64_t, 2> from, to;
};

/// Returns the groups of dimensions that describe the reshape. There are as many groups as possible, and trailing unit
/// dimensions belong to the last group. The list is empty if no grouping is known to have equal products of sizes in
/// each group, or if a shape has rank 0.
llvm::SmallVector<ReshapeGroup> reshapeGroups(llvm::ArrayRef<mlir::AffineExpr> from,
                                              llvm::ArrayRef<mlir::AffineExpr> to);

/// Returns a lower and an upper bound of `expr`, where rangeOfSymbol(k) is the range of symbol k. Unknown bounds are
/// infinite.
std::pair<double, double> rangeOf(mlir::AffineExpr expr,
                                  llvm::function_ref<std::pair<double, double>(unsigned)> rangeOfSymbol);

} // namespace tilewright::graph

#endif
