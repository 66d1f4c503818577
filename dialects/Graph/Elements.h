//===- Elements.h - on which elements an op of the elementwise table has a meaning -===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_ELEMENTS_H
#define TILEWRIGHT_DIALECTS_GRAPH_ELEMENTS_H

#include "mlir/IR/Operation.h"

namespace tilewright::graph {

/// Whether `op`, of the elementwise table, computes with elements of type `element`: square roots are of floats, shifts
/// of integers, and booleans have no remainder. elementwise_c3 for the verifier, a refusal for the importers; stage 2
/// has a scalar form for what is true here.
bool hasMeaning(mlir::Operation *op, mlir::Type element);

} // namespace tilewright::graph

#endif
