//===- LibmFallback.cpp - calls libm if a lane has no formula -------------===//
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/LibmFallback.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu {

/// Returns `x` as a vector of rank 1; scalars are unchanged.
static Value flattened(OpBuilder &b, Location loc, Value x) {
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type || type.getRank() == 1)
    return x;
  return vector::ShapeCastOp::create(b, loc, VectorType::get({type.getNumElements()}, type.getElementType()), x);
}

Value anyLane(Lanes mask) {
  Value flat = flattened(*mask.builder, mask.builder->getLoc(), mask.value);
  if (!isa<VectorType>(flat.getType()))
    return flat;
  return mask.make<vector::ReductionOp>(vector::CombiningKind::OR, flat).value;
}

/// Emits `call` on scalars of f64. Scalars of f32 are extended to f64 before the call, and the result is truncated.
static Value askOne(OpBuilder &b, Location loc, ValueRange scalars, LibraryCall call) {
  if (scalars.front().getType().isF64())
    return call(b, loc, scalars);
  SmallVector<Value> wide;
  for (Value each : scalars)
    wide.push_back(arith::ExtFOp::create(b, loc, b.getF64Type(), each));
  return arith::TruncFOp::create(b, loc, b.getF32Type(), call(b, loc, wide));
}

static Value callLibm(OpBuilder &b, Location loc, ArrayRef<Lanes> operands, LibraryCall call) {
  SmallVector<Value> rows;
  for (Lanes each : operands)
    rows.push_back(flattened(b, loc, each.value));
  auto flat = dyn_cast<VectorType>(rows.front().getType());
  if (!flat)
    return askOne(b, loc, rows, call);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0), step = arith::ConstantIndexOp::create(b, loc, 1),
        end = arith::ConstantIndexOp::create(b, loc, flat.getNumElements());
  auto loop = scf::ForOp::create(b, loc, zero, end, step, rows.front(),
                                 [&](OpBuilder &b, Location loc, Value i, ValueRange accumulated) {
                                   rows.front() = accumulated[0]; // lane i and the lanes after it are not replaced yet
                                   SmallVector<Value> scalars;
                                   for (Value row : rows)
                                     scalars.push_back(vector::ExtractOp::create(b, loc, row, OpFoldResult(i)));
                                   Value y = askOne(b, loc, scalars, call);
                                   Value next = vector::InsertOp::create(b, loc, y, accumulated[0], OpFoldResult(i));
                                   scf::YieldOp::create(b, loc, next);
                                 });
  Value result = loop.getResult(0);
  return flat == operands.front().type() ? result
                                         : Value(vector::ShapeCastOp::create(b, loc, operands.front().type(), result));
}

Lanes unlessAny(Lanes mask, ArrayRef<Lanes> operands, Lanes fast, LibraryCall call) {
  ImplicitLocOpBuilder &b = *mask.builder;
  auto branch = scf::IfOp::create(
      b, b.getLoc(), anyLane(mask),
      [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, callLibm(b, loc, operands, call)); },
      [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, fast.value); });
  return {mask.builder, branch.getResult(0)};
}

} // namespace tilewright::cpu
