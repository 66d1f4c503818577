//===- Decisions.h - what a pass decided, for the user's report ------------===//
//
// The attribute tw.decisions, of a function and later of the module, is an array of
//   {fused = false, subject = "matmul with gelu", reason = "...", where = "model.py:12"}
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_DECISIONS_H
#define TILEWRIGHT_DIALECTS_GRAPH_DECISIONS_H

#include "mlir/IR/Builders.h"
#include <string>

namespace tilewright::graph {

/// The user's file:line of `loc`, or "".
std::string sourceLine(mlir::Location loc);

/// An element of tw.decisions.
mlir::Attribute decisionAttr(mlir::Builder &builder, bool fused, llvm::StringRef subject, llvm::StringRef reason,
                             mlir::Location loc);

} // namespace tilewright::graph

#endif
