//===- SizeRules.h - relations of sizes that an op needs ------------------------===//
//
// A verifier states each relation once: surelyDiffer(a, b) where two sizes must be equal, surelyBelow(a, b) where one
// must be at least the other. Of numbers, and of expressions that differ by a number, it decides. What is left open,
//
//   tw.concat %x, %w {dim = 1} : (tensor<?x8xf32, (s0, 8)>, tensor<17x8xf32>) -> ...      s0 == 17
//
// is a rule of the op: guardSizes() proves it from the ranges of the symbols, or makes it a guard of every call.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_SIZERULES_H
#define TILEWRIGHT_DIALECTS_GRAPH_SIZERULES_H

#include "dialects/Graph/Graph.h"

namespace tilewright::graph {

/// `lhs` is `rhs`, or with `atLeast` not below it.
struct SizeRule {
  mlir::AffineExpr lhs, rhs;
  bool atLeast = false;
};

/// The rules that the verifier of `op` leaves open, and that no result has a negative size. Failure: the op does not
/// verify.
mlir::LogicalResult openSizeRules(mlir::Operation *op, llvm::SmallVectorImpl<SizeRule> &rules);

/// `size` with the names of its symbols: "n * 8 + 1".
std::string sizeText(mlir::AffineExpr size, llvm::ArrayRef<SymbolicSize> symbols);

/// An element of tw.guards of a function with `symbols` symbols; `text` says of what the sizes are.
mlir::Attribute guardAttr(const SizeRule &rule, unsigned symbols, llvm::StringRef text);

} // namespace tilewright::graph

#endif
