//===- SizeExpression.h - sympy's text of a size as an affine expression -------===//
#ifndef TILEWRIGHT_LIB_IMPORT_BUILDER_SIZEEXPRESSION_H
#define TILEWRIGHT_LIB_IMPORT_BUILDER_SIZEEXPRESSION_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// A symbol of the graph: its expression and its range.
struct SizeSymbol {
  mlir::AffineExpr expr;
  int64_t min = 0, max = 0;
};

/// Parses an expression over `symbols` that sympy's str() or srepr() has printed, such as `s0*12`, `(s0 + 1)//2`,
/// `FloorDiv(s0, 2)`, `Mod(s0, 8)`, or `Mul(Integer(2), Symbol('s0'))`. Max and Min are errors unless the ranges of the
/// symbols determine the result.
llvm::Expected<mlir::AffineExpr> parseSize(llvm::StringRef text, const llvm::StringMap<SizeSymbol> &symbols,
                                           mlir::MLIRContext *context);

/// Returns the range of `expr`; unknown bounds are infinite.
std::pair<double, double> rangeOf(mlir::AffineExpr expr, const llvm::StringMap<SizeSymbol> &symbols);

} // namespace tilewright

#endif
