//===- Elements.h - valid element types of elementwise ops -------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_ELEMENTS_H
#define TILEWRIGHT_DIALECTS_GRAPH_ELEMENTS_H

#include "mlir/IR/Operation.h"

namespace tilewright::graph {

/// Returns all operands of the elementwise op `op` except the condition of a tw.where or tw.require.
mlir::OperandRange computedOperands(mlir::Operation *op);

/// Returns true if `op`, an op of the elementwise table, is defined on elements of type `element`. For example, square
/// roots need floats, shifts need integers, and remainders of booleans are undefined. If this function returns false,
/// the verifier reports elementwise_c3, and the importers reject the operator. The lowering to linalg has a scalar form
/// of every op and type that this function accepts.
bool hasMeaning(mlir::Operation *op, mlir::Type element);

} // namespace tilewright::graph

#endif
