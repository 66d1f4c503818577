//===- Sizes.h - products of symbolic sizes and what a reshape does to them ---===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_SIZES_H
#define TILEWRIGHT_DIALECTS_GRAPH_SIZES_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"
#include <map>
#include <vector>

namespace tilewright::graph {

/// A polynomial with integer coefficients over symbols and opaque terms (divisions): equal sizes are equal polynomials.
class SizePolynomial {
public:
  explicit SizePolynomial(int64_t constant) {
    if (constant)
      terms[{}] = constant;
  }
  explicit SizePolynomial(mlir::AffineExpr expr);
  SizePolynomial &operator*=(const SizePolynomial &other);
  SizePolynomial &operator+=(const SizePolynomial &other);
  bool operator==(const SizePolynomial &other) const { return terms == other.terms; }

private:
  std::map<std::vector<const void *>, int64_t> terms; // sorted factors -> coefficient
};

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

} // namespace tilewright::graph

#endif
