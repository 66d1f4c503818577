//===- Decisions.h - decisions of passes, for the user's report ------------===//
//
// The attribute tw.decisions of a function or of the module is an array of
//   {kind = "fusion", done = false, subject = "matmul with gelu", reason = "...", where = "model.py:12"}
// Session::compile() moves these attributes to its report after each stage. Each decision is also emitted as a remark
// (mlir/IR/Remarks.h), whose category is the kind of the decision. For example, tilewright-opt prints the remarks about
// ops that are not fused with --remarks-filter-missed=fusion --remark-policy=all. The kinds of decisions are:
//
//   fusion     whether two ops are in one kernel, and which attention is computed with its whole score matrix
//   quantize   whether a product is computed in integers or in floats
//   pack       whether a contraction reads a packed operand
//   vectorize  whether a loop is vectorized or is executed element by element
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_DECISIONS_H
#define TILEWRIGHT_DIALECTS_GRAPH_DECISIONS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace tilewright::graph {

/// One decision of the pass `pass`.
struct PassDecision {
  llvm::StringRef pass, kind;
  bool done;
  std::string subject, reason; ///< `reason` explains why the optimization was not applied
};

/// The decisions of one pass over one function or module. Each is emitted as a remark when it is added.
class DecisionList {
public:
  /// Adds a decision about the op at `loc`.
  void add(mlir::Location loc, const PassDecision &decision);
  /// Appends the decisions to tw.decisions of `holder`.
  void store(mlir::Operation *holder) const;

private:
  llvm::SmallVector<mlir::Attribute> list;
};

/// Removes tw.decisions from the module and from its functions, and returns all elements.
llvm::SmallVector<mlir::DictionaryAttr> takeDecisions(mlir::Operation *module);

} // namespace tilewright::graph

#endif
