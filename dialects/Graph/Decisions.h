//===- Decisions.h - decisions of passes, for the user's report ------------===//
//
// The attribute tw.decisions of a function, and later of the module, is an array of
//   {fused = false, subject = "matmul with gelu", reason = "...", where = "model.py:12"}
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_DECISIONS_H
#define TILEWRIGHT_DIALECTS_GRAPH_DECISIONS_H

#include "mlir/IR/Builders.h"
#include <string>

namespace tilewright::graph {

/// Returns the user's "file:line" of `loc`, or "" if `loc` has none.
std::string sourceLine(mlir::Location loc);

/// Returns an element of tw.decisions.
mlir::Attribute decisionAttr(mlir::Builder &builder, bool fused, llvm::StringRef subject, llvm::StringRef reason,
                             mlir::Location loc);

} // namespace tilewright::graph

#endif
