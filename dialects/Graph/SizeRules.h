//===- SizeRules.h - relations between sizes that an op requires ----------------===//
//
// A verifier checks each relation with one call: surelyDiffer(a, b) if the sizes `a` and `b` must be equal, and
// surelyBelow(a, b) if `a` must be at least `b`. If a - b is a constant, the verifier decides the relation immediately.
// A relation that depends on symbols, such as
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

/// Collects the relations that the verifier of `op` cannot decide. For each result size that is neither a constant nor
/// a symbol, also adds the rule that the size is at least 0. Fails if the op does not verify.
mlir::LogicalResult openSizeRules(mlir::Operation *op, llvm::SmallVectorImpl<SizeRule> &rules);

/// Prints `size` with the names of its symbols: "n * 8 + 1".
std::string sizeText(mlir::AffineExpr size, llvm::ArrayRef<SymbolicSize> symbols);

/// Returns an element of tw.guards of a function with `symbols` symbols. `text` names the op and the condition for the
/// error message.
mlir::Attribute guardAttr(const SizeRule &rule, unsigned symbols, llvm::StringRef text);

} // namespace tilewright::graph

#endif
