//===- Elements.cpp - valid element types of elementwise ops ------------------------===//
//
// Tests: test/Graph/invalid.mlir, test/Python/ops/test_refused_by_eager.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Elements.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tilewright::graph {

static bool takesFloatsOnly(Operation *op) {
  return isa<ExpOp, Exp2Op, Expm1Op, LogOp, Log2Op, Log10Op, Log1pOp, SqrtOp, RsqrtOp, ReciprocalOp, SinOp, CosOp,
             TanOp, AsinOp, AcosOp, AtanOp, SinhOp, CoshOp, TanhOp, AsinhOp, AcoshOp, AtanhOp, ErfOp, ErfcOp,
             SigmoidOp, SiluOp, GeluOp, GeluTanhOp, DivOp, Atan2Op>(op);
}

bool hasMeaning(Operation *op, Type element) {
  if (isa<WhereOp, CastOp, QuantizeOp, DequantizeOp>(op))
    return true;
  const bool isOfBits = isa<BitwiseAndOp, BitwiseOrOp, BitwiseXorOp, BitwiseNotOp>(op);
  if (isa<FloatType>(element))
    return !isOfBits && !isa<ShiftLeftOp, ShiftRightOp>(op);
  if (!element.isInteger())
    return false;
  if (element.isInteger(1) && isa<DivTruncOp, DivFloorOp, FmodOp, RemainderOp, NegOp, FloorOp, CeilOp, RoundOp, TruncOp,
                                  ShiftLeftOp, ShiftRightOp>(op))
    return false;
  return !takesFloatsOnly(op);
}

} // namespace tilewright::graph
