//===- LowerNormalizations.cpp - softmax and norms as sequences of generics ---===//
//
// Before:
//   %1 = tw.softmax %x {dim = 1} : tensor<4x8xf32> -> tensor<4x8xf32>
// After (rows are d0; every op runs over the same space or over its rows):
//   %m = linalg.generic {max}  ["parallel", "reduction"] ins(%x) : tensor<4xf32>
//   %e = linalg.generic {exp(x - m)} ins(%x, %m : (d0, d1) -> (d0)) : tensor<4x8xf32>
//   %s = linalg.generic {add}  ["parallel", "reduction"] ins(%e) : tensor<4xf32>
//   %r = linalg.generic {e / s} ins(%e, %s) : tensor<4x8xf32>
//
// Test: test/Kernels/lower-normalizations.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/LowerRows.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::structured {

Rows::Moments Rows::moments(Type f, const Read &input, std::optional<Parts> parts) {
  Value sum = reduce(tile::Combiner::Sum, f, input, false, [](OpBuilder &, Location, ValueRange in) { return in[0]; });
  Value about = perRow(f, sum, [&](OpBuilder &b, Location at, ValueRange in) {
    return arith::DivFOp::create(b, at, in[0], countAs(b, at, f), contractFlag(b)).getResult();
  });
  // One pass computes the sum of the differences from the rounded mean, and the sum of their squares. If all elements
  // of a row are equal, the differences are a few units in the last place, and both sums are exact. The corrected mean
  // then equals the elements, and the corrected sum of squares is 0, as in eager (Welford).
  SmallVector<Read> inputs{input, row(about)};
  if (parts)
    inputs.push_back(parts->within);
  auto differences = [&](OpBuilder &b, Location at, ValueRange in, ValueRange out) {
    auto flags = contractFlag(b);
    Value difference = arith::SubFOp::create(b, at, in[0], in[1], flags);
    Value square = arith::MulFOp::create(b, at, difference, difference, flags);
    if (parts) {
      square = arith::MulFOp::create(b, at, square, parts->elements.countAs(b, at, f), flags);
      square = arith::AddFOp::create(b, at, square, in[2], flags);
    }
    return SmallVector<Value>{combineScalar(b, at, tile::Combiner::Sum, out[0], difference, false),
                              combineScalar(b, at, tile::Combiner::Sum, out[1], square, false)};
  };
  TypedAttr zero = neutralElement(tile::Combiner::Sum, f, false);
  SmallVector<Value> pass = fold({zero, zero}, inputs, differences);
  Value lost = pass[0], squares = pass[1];
  auto rest = [&](OpBuilder &b, Location at, Value lost) {
    return arith::DivFOp::create(b, at, lost, countAs(b, at, f), contractFlag(b)).getResult();
  };
  Value mean = perRow(f, {about, lost}, [&](OpBuilder &b, Location at, ValueRange in) {
    Value left = rest(b, at, in[1]);
    Value mean = arith::AddFOp::create(b, at, in[0], left, contractFlag(b));
    Value unknown = arith::CmpFOp::create(b, at, arith::CmpFPredicate::UNO, left, left); // inf - inf
    return arith::SelectOp::create(b, at, unknown, in[0], mean).getResult();
  });
  squares = perRow(f, {squares, lost}, [&](OpBuilder &b, Location at, ValueRange in) {
    Value twice = arith::MulFOp::create(b, at, in[1], rest(b, at, in[1]), contractFlag(b));
    if (parts)
      twice = arith::MulFOp::create(b, at, twice, parts->elements.countAs(b, at, f), contractFlag(b));
    Value left = arith::SubFOp::create(b, at, in[0], twice, contractFlag(b));
    return arith::MaximumFOp::create(b, at, left, floatConstant(b, at, f, 0), extremeFlags(b)).getResult();
  });
  return {mean, squares};
}

static LogicalResult lowerSoftmax(Lowering &l, graph::SoftmaxOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Type result = cast<RankedTensorType>(op.getType()).getElementType();
  Rows rows(l, type, op.getDim());
  Type f = accumulatorType(type.getElementType());
  Read input = rows.full(op.getInput());
  // The maximum may ignore NaN, because the exponential of NaN is NaN, and therefore the sum is NaN.
  Value max = rows.reduce(tile::Combiner::MaxNumber, f, input, false,
                          [&](OpBuilder &, Location, ValueRange in) { return in[0]; });
  if (op.getSafe()) // e^(-inf - 0) is 0, but e^(-inf + inf) would be NaN
    max = rows.perRow(f, max, [&](OpBuilder &b, Location at, ValueRange in) {
      Value lowest = arith::ConstantOp::create(b, at, neutralElement(tile::Combiner::Maximum, f, false));
      Value none = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, in[0], lowest);
      return arith::SelectOp::create(b, at, none, floatConstant(b, at, f, 0), in[0]).getResult();
    });
  auto shiftedExp = [&](OpBuilder &b, Location at, ValueRange in) {
    Value shifted = arith::SubFOp::create(b, at, in[0], in[1], contractFlag(b));
    return math::ExpOp::create(b, at, shifted, contractFlag(b)).getResult();
  };
  if (op.getLog()) {
    Value sum = rows.reduce(tile::Combiner::Sum, f, {input, rows.row(max)}, false, shiftedExp);
    Value logSum = rows.perRow(f, sum, [&](OpBuilder &b, Location at, ValueRange in) {
      return math::LogOp::create(b, at, in[0], contractFlag(b)).getResult();
    });
    l.set(op, rows.perElement(storageType(result), {input, rows.row(max), rows.row(logSum)},
                              [&](OpBuilder &b, Location at, ValueRange in) {
                                Value x = arith::SubFOp::create(b, at, in[0], in[1], contractFlag(b));
                                x = arith::SubFOp::create(b, at, x, in[2], contractFlag(b));
                                return store(b, at, x, result);
                              }));
    return success();
  }
  Value exp = rows.perElement(f, {input, rows.row(max)}, shiftedExp);
  Value sum = rows.reduce(tile::Combiner::Sum, f, rows.whole(exp), false,
                          [&](OpBuilder &, Location, ValueRange in) { return in[0]; });
  l.set(op, rows.perElement(storageType(result), {rows.whole(exp), rows.row(sum)},
                            [&](OpBuilder &b, Location at, ValueRange in) {
                              Value x = arith::DivFOp::create(b, at, in[0], in[1], contractFlag(b));
                              if (op.getSafe()) {
                                Value zero = floatConstant(b, at, f, 0);
                                Value none = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, in[1], zero);
                                x = arith::SelectOp::create(b, at, none, zero, x);
                              }
                              return store(b, at, x, result);
                            }));
  return success();
}

/// Computes rsqrt(sum / n + eps) of each row.
static Value reciprocalDeviation(Rows &rows, Type f, Value sumOfSquares, double eps) {
  return rows.perRow(f, sumOfSquares, [&](OpBuilder &b, Location at, ValueRange in) {
    Value x = arith::DivFOp::create(b, at, in[0], rows.countAs(b, at, f), contractFlag(b));
    x = arith::AddFOp::create(b, at, x, floatConstant(b, at, f, eps), contractFlag(b));
    return math::RsqrtOp::create(b, at, x, contractFlag(b)).getResult();
  });
}

static SmallVector<int64_t> lastDims(RankedTensorType type, int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(type.getRank() - count, type.getRank()));
}

static LogicalResult lowerLayerNorm(Lowering &l, graph::LayerNormOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Type result = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  Rows rows(l, type, lastDims(type, op.getRank()));
  Type f = accumulatorType(type.getElementType());
  Read input = rows.full(op.getInput());
  auto [mean, squares] = rows.moments(f, input);
  Value rstd = reciprocalDeviation(rows, f, squares, op.getEps().convertToDouble());
  SmallVector<Read> inputs{input, rows.row(mean), rows.row(rstd)};
  if (op.getWeight())
    inputs.push_back(l.readBroadcast(op.getWeight(), rows.sizes));
  if (op.getBias())
    inputs.push_back(l.readBroadcast(op.getBias(), rows.sizes));
  l.set(op.getResult(), rows.perElement(storageType(result), inputs, [&](OpBuilder &b, Location at, ValueRange in) {
    auto flags = contractFlag(b);
    Value x = arith::SubFOp::create(b, at, in[0], in[1], flags);
    x = arith::MulFOp::create(b, at, x, in[2], flags);
    if (op.getWeight())
      x = arith::MulFOp::create(b, at, x, in[3], flags);
    if (op.getBias())
      x = arith::AddFOp::create(b, at, x, in.back(), flags);
    return store(b, at, x, result);
  }));
  if (!op.getMean().use_empty())
    rows.setResult(op.getMean(), mean);
  if (!op.getRstd().use_empty())
    rows.setResult(op.getRstd(), rstd);
  return success();
}

static LogicalResult lowerRMSNorm(Lowering &l, graph::RMSNormOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Type result = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  Rows rows(l, type, lastDims(type, op.getRank()));
  Type f = accumulatorType(type.getElementType());
  Read input = rows.full(op.getInput());
  Value squares = rows.reduce(tile::Combiner::Sum, f, input, false, [&](OpBuilder &b, Location at, ValueRange in) {
    return arith::MulFOp::create(b, at, in[0], in[0], contractFlag(b)).getResult();
  });
  Value rstd = reciprocalDeviation(rows, f, squares, op.getEps().convertToDouble());
  SmallVector<Read> inputs{input, rows.row(rstd)};
  if (op.getWeight())
    inputs.push_back(l.readBroadcast(op.getWeight(), rows.sizes));
  l.set(op.getResult(), rows.perElement(storageType(result), inputs, [&](OpBuilder &b, Location at, ValueRange in) {
    Value x = arith::MulFOp::create(b, at, in[0], in[1], contractFlag(b));
    if (op.getWeight())
      x = arith::MulFOp::create(b, at, x, in[2], contractFlag(b));
    return store(b, at, x, result);
  }));
  if (!op.getRstd().use_empty())
    rows.setResult(op.getRstd(), rstd);
  return success();
}

LogicalResult lowerNormalization(Lowering &l, Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<graph::SoftmaxOp>([&](auto op) { return lowerSoftmax(l, op); })
      .Case<graph::LayerNormOp>([&](auto op) { return lowerLayerNorm(l, op); })
      .Case<graph::RMSNormOp>([&](auto op) { return lowerRMSNorm(l, op); })
      .Default([](Operation *op) { return op->emitOpError("is not a normalization"); });
}

} // namespace tilewright::structured
