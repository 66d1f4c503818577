//===- Elements.cpp - valid element types of elementwise ops ------------------------===//
//
// Tests: test/Graph/invalid.mlir, test/Python/ops/test_refused_by_eager.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Elements.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tilewright::graph {

OperandRange computedOperands(Operation *op) {
  return op->getOperands().drop_front(isa<WhereOp, RequireOp>(op) ? 1 : 0);
}

bool hasMeaning(Operation *op, Type element) {
  if (isa<WhereOp, RequireOp, CastOp, QuantizeOp, DequantizeOp>(op))
    return true;
  const bool isOfBits = isa<BitwiseAndOp, BitwiseOrOp, BitwiseXorOp, BitwiseNotOp>(op);
  if (isa<FloatType>(element))
    return !isOfBits && !isa<ShiftLeftOp, ShiftRightOp>(op);
  if (!element.isInteger())
    return false;
  if (element.isInteger(1) && isa<DivTruncOp, DivFloorOp, FmodOp, RemainderOp, NegOp, FloorOp, CeilOp, RoundOp, TruncOp,
                                  ShiftLeftOp, ShiftRightOp>(op))
    return false;
  return !op->hasTrait<FloatsOnly>();
}

} // namespace tilewright::graph
