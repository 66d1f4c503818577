//===- SizeRules.h - relations between sizes that an op requires ----------------===//
//
// A verifier states each relation once: surelyDiffer(a, b) if two sizes must be equal, surelyBelow(a, b) if one must be
// at least the other. Constants, and expressions that differ by a constant, are decided immediately. A relation that
// depends on symbols, such as
//
//   tw.concat %x, %w {dim = 1} : (tensor<?x8xf32, (s0, 8)>, tensor<17x8xf32>) -> ...      s0 == 17
//
// becomes a rule of the op: --tw-guard-sizes proves it from the ranges of the symbols, or adds a guard that every call
// checks.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_SIZERULES_H
#define TILEWRIGHT_DIALECTS_GRAPH_SIZERULES_H

#include "dialects/Graph/Graph.h"

namespace tilewright::graph {

/// States that `lhs` equals `rhs`, or with `atLeast` that `lhs` is at least `rhs`.
struct SizeRule {
  mlir::AffineExpr lhs, rhs;
  bool atLeast = false;
};

/// Collects the relations that the verifier of `op` cannot decide. Also adds a rule for each result size that may be
/// negative. Fails if the op does not verify.
mlir::LogicalResult openSizeRules(mlir::Operation *op, llvm::SmallVectorImpl<SizeRule> &rules);

/// Prints `size` with the names of its symbols: "n * 8 + 1".
std::string sizeText(mlir::AffineExpr size, llvm::ArrayRef<SymbolicSize> symbols);

/// Returns an element of tw.guards of a function with `symbols` symbols. `text` describes the op that requires the
/// rule.
mlir::Attribute guardAttr(const SizeRule &rule, unsigned symbols, llvm::StringRef text);

} // namespace tilewright::graph

#endif
