//===- DecomposeAttention.cpp - what tw_tile.attention means --------------------//
//
// scores[b, h, l, s] = scale * sum_d q[b, h, l, d] * k[b, h / r, s, d] + mask, -inf where masked or not causal
// m = max_s scores; e = exp(scores - m); n = sum_s e; result = (sum_s e * v) / n; logsumexp = m + log n
//
// A row that sees nothing gives zeros, and -inf as its logsumexp.
//
// Test: test/Target/Reference/decompose-tile.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Reference/DecomposeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::reference {
namespace {

struct AttentionParts {
  OpBuilder &b;
  Location loc;
  Type f; // scores are computed in it

  Value number(OpBuilder &at, double value) { return arith::ConstantOp::create(at, loc, at.getFloatAttr(f, value)); }
  Value wide(OpBuilder &at, Value x) {
    return x.getType() == f
               ? x
               : arith::ExtFOp::create(at, loc, f, x,
                                       arith::FastMathFlagsAttr::get(at.getContext(), arith::FastMathFlags::contract))
                     .getResult();
  }
  Value filled(ArrayRef<OpFoldResult> sizes, double value) {
    Value empty = tensor::EmptyOp::create(b, loc, sizes, f);
    return linalg::FillOp::create(b, loc, number(b, value), empty).getResult(0);
  }
  Value generic(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, Value out, unsigned reductions,
                function_ref<Value(OpBuilder &, ValueRange)> body) {
    SmallVector<utils::IteratorType> iterators(maps[0].getNumDims() - reductions, utils::IteratorType::parallel);
    iterators.append(reductions, utils::IteratorType::reduction);
    return linalg::GenericOp::create(b, loc, out.getType(), inputs, out, maps, iterators,
                                     [&](OpBuilder &inner, Location at, ValueRange arguments) {
                                       linalg::YieldOp::create(inner, at, body(inner, arguments));
                                     })
        .getResult(0);
  }
};

} // namespace

SmallVector<Value> decomposeAttention(OpBuilder &b, tile::AttentionOp op) {
  Value query = op.getInputs()[0], key = op.getInputs()[1], value = op.getInputs()[2];
  auto queryType = cast<RankedTensorType>(query.getType());
  SmallVector<int64_t> where{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  if (op.getPermutations())
    where.assign(op.getPermutations()->begin(), op.getPermutations()->end());
  auto position = [&](unsigned operand, unsigned d) { return where[operand * 4 + d]; };
  Location loc = op.getLoc();
  Type f = queryType.getElementType().isF64() ? b.getF64Type() : Type(b.getF32Type());
  AttentionParts parts{b, loc, f};
  auto sizeOf = [&](unsigned operand, unsigned d) {
    return tensor::getMixedSize(b, loc, op.getInputs()[operand], position(operand, d));
  };
  auto staticSize = [&](unsigned operand, unsigned d) {
    return cast<RankedTensorType>(op.getInputs()[operand].getType()).getDimSize(position(operand, d));
  };
  SmallVector<OpFoldResult> rowSizes{sizeOf(0, 0), sizeOf(0, 1), sizeOf(0, 2)}, scoreSizes(rowSizes),
      resultSizes(rowSizes);
  scoreSizes.push_back(sizeOf(1, 2));
  resultSizes.push_back(sizeOf(2, 3));
  int64_t perKey = staticSize(0, 1) / staticSize(1, 1);
  MLIRContext *context = b.getContext();
  AffineExpr d0, d1, d2, d3, d4;
  bindDims(context, d0, d1, d2, d3, d4);
  auto map = [&](unsigned dims, ArrayRef<AffineExpr> results) { return AffineMap::get(dims, 0, results, context); };
  // The map of an operand whose canonical dimensions are read at these expressions.
  auto placed = [&](unsigned operand, unsigned dims, ArrayRef<AffineExpr> canonical) {
    SmallVector<AffineExpr> results(4);
    for (unsigned d = 0; d < 4; ++d)
      results[position(operand, d)] = canonical[d];
    return map(dims, results);
  };
  AffineExpr keyHead = perKey == 1 ? d1 : d1.floorDiv(perKey);
  AffineMap scoreMap = map(4, {d0, d1, d2, d3}), rowMap = map(4, {d0, d1, d2});

  // Loops: b, h, l, s and d reduced.
  Value scores = parts.generic(
      {query, key}, {placed(0, 5, {d0, d1, d2, d4}), placed(1, 5, {d0, keyHead, d3, d4}), map(5, {d0, d1, d2, d3})},
      parts.filled(scoreSizes, 0), 1, [&](OpBuilder &in, ValueRange a) {
        Value product = arith::MulFOp::create(in, loc, parts.wide(in, a[0]), parts.wide(in, a[1]));
        return arith::AddFOp::create(in, loc, a[2], product).getResult();
      });
  SmallVector<Value> inputs{scores};
  SmallVector<AffineMap> maps{scoreMap};
  bool isBoolean = false;
  if (op.getInputs().size() == 4) {
    Value mask = op.getInputs()[3];
    auto type = cast<RankedTensorType>(mask.getType());
    isBoolean = type.getElementType().isInteger();
    SmallVector<AffineExpr> reads;
    for (int64_t i = 0; i < type.getRank(); ++i)
      reads.push_back(type.getDimSize(i) == 1 ? getAffineConstantExpr(0, context)
                                              : getAffineDimExpr(4 - type.getRank() + i, context));
    inputs.push_back(mask);
    maps.push_back(map(4, reads));
  }
  maps.push_back(scoreMap);
  double infinity = std::numeric_limits<double>::infinity();
  Value masked =
      parts.generic(inputs, maps, tensor::EmptyOp::create(b, loc, scoreSizes, f), 0, [&](OpBuilder &in, ValueRange a) {
        Value x = arith::MulFOp::create(in, loc, a[0], parts.number(in, op.getScale().convertToDouble()));
        Value lowest = parts.number(in, -infinity);
        if (isBoolean) {
          Value zero = arith::ConstantOp::create(in, loc, in.getZeroAttr(a[1].getType()));
          Value seen = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::ne, a[1], zero);
          x = arith::SelectOp::create(in, loc, seen, x, lowest);
        } else if (inputs.size() == 2) {
          x = arith::AddFOp::create(in, loc, x, parts.wide(in, a[1]));
        }
        if (op.getCausal()) {
          Value row = linalg::IndexOp::create(in, loc, 2), column = linalg::IndexOp::create(in, loc, 3);
          Value seen = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::sle, column, row);
          x = arith::SelectOp::create(in, loc, seen, x, lowest);
        }
        return x;
      });
  Value max = parts.generic(
      {masked}, {scoreMap, rowMap}, parts.filled(rowSizes, -infinity), 1,
      [&](OpBuilder &in, ValueRange a) { return arith::MaximumFOp::create(in, loc, a[1], a[0]).getResult(); });
  auto orZero = [&](OpBuilder &in, Value m) { // so that a row of -inf alone has exponentials of 0
    Value none = arith::CmpFOp::create(in, loc, arith::CmpFPredicate::OEQ, m, parts.number(in, -infinity));
    return arith::SelectOp::create(in, loc, none, parts.number(in, 0), m).getResult();
  };
  Value exp = parts.generic({masked, max}, {scoreMap, rowMap, scoreMap}, tensor::EmptyOp::create(b, loc, scoreSizes, f),
                            0, [&](OpBuilder &in, ValueRange a) {
                              Value shifted = arith::SubFOp::create(in, loc, a[0], orZero(in, a[1]));
                              return math::ExpOp::create(in, loc, shifted).getResult();
                            });
  Value sum = parts.generic({exp}, {scoreMap, rowMap}, parts.filled(rowSizes, 0), 1, [&](OpBuilder &in, ValueRange a) {
    return arith::AddFOp::create(in, loc, a[1], a[0]).getResult();
  });
  // Loops: b, h, l, dv and s reduced.
  Value weighted = parts.generic(
      {exp, value}, {map(5, {d0, d1, d2, d4}), placed(2, 5, {d0, keyHead, d4, d3}), map(5, {d0, d1, d2, d3})},
      parts.filled(resultSizes, 0), 1, [&](OpBuilder &in, ValueRange a) {
        Value product = arith::MulFOp::create(in, loc, a[0], parts.wide(in, a[1]));
        return arith::AddFOp::create(in, loc, a[2], product).getResult();
      });
  Value result = parts.generic(
      {weighted, sum}, {scoreMap, rowMap, placed(3, 4, {d0, d1, d2, d3})}, op.getOutputs()[0], 0,
      [&](OpBuilder &in, ValueRange a) {
        Value zero = parts.number(in, 0);
        Value x = arith::DivFOp::create(in, loc, a[0], a[1]);
        x = arith::SelectOp::create(in, loc, arith::CmpFOp::create(in, loc, arith::CmpFPredicate::OEQ, a[1], zero),
                                    zero, x);
        if (a[2].getType() == f)
          return x;
        auto contract = arith::FastMathFlagsAttr::get(context, arith::FastMathFlags::contract);
        return arith::TruncFOp::create(in, loc, a[2].getType(), x, arith::RoundingModeAttr(), contract).getResult();
      });
  AffineMap rows = map(3, {d0, d1, d2});
  Value logsumexp =
      parts.generic({max, sum}, {rows, rows, rows}, op.getOutputs()[1], 0, [&](OpBuilder &in, ValueRange a) {
        Value x = arith::AddFOp::create(in, loc, orZero(in, a[0]), math::LogOp::create(in, loc, a[1]));
        return a[2].getType() == f ? x : arith::TruncFOp::create(in, loc, a[2].getType(), x).getResult();
      });
  return {result, logsumexp};
}

} // namespace tilewright::reference
