//===- DecomposeAttention.cpp - the meaning of attention and its gradient ------------===//
//
// scores[b, h, l, s] = scale * sum_d q[b, h, l, d] * k[b, h / r, s, d] + mask, or -inf for masked keys s
// m = max_s scores; e = exp(scores - m); n = sum_s e; result = (sum_s e * v) / n; logsumexp = m + log n
//
// r is the number of query heads per key head. If a row has no unmasked scores, its results are 0, or NaN with
// `nan_rows`, and its logsumexp is -inf. The description of tw_tile.attention_gradient has the formulas of the
// gradient.
//
// Test: test/Codegen/Reference/decompose-tile.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/DecomposeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::reference {
namespace {

/// Emits generics over the four canonical dimensions of attention's operands.
struct AttentionParts {
  OpBuilder &b;
  Location loc;
  Type f; // the type of scores
  SmallVector<int64_t> where;

  AttentionParts(OpBuilder &b, Operation *op, Value query, std::optional<ArrayRef<int64_t>> permutations)
      : b(b), loc(op->getLoc()),
        f(cast<RankedTensorType>(query.getType()).getElementType().isF64() ? b.getF64Type() : Type(b.getF32Type())) {
    if (permutations)
      where.assign(permutations->begin(), permutations->end());
  }

  int64_t position(unsigned operand, unsigned d) const { return where.empty() ? d : where[operand * 4 + d]; }
  OpFoldResult size(Value value, unsigned operand, unsigned d) {
    return tensor::getMixedSize(b, loc, value, position(operand, d));
  }
  AffineExpr dim(unsigned d) { return getAffineDimExpr(d, b.getContext()); }
  AffineMap map(unsigned dims, ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, b.getContext());
  }
  /// Returns the map of an operand. `canonical` contains the indices of the operand's dimensions in canonical order.
  AffineMap permutedMap(unsigned operand, unsigned dims, ArrayRef<AffineExpr> canonical) {
    SmallVector<AffineExpr> results(4);
    for (unsigned d = 0; d < 4; ++d)
      results[position(operand, d)] = canonical[d];
    return map(dims, results);
  }

  Value number(OpBuilder &at, double value) { return arith::ConstantOp::create(at, loc, at.getFloatAttr(f, value)); }
  Value wide(OpBuilder &at, Value x) {
    return x.getType() == f
               ? x
               : arith::ExtFOp::create(at, loc, f, x,
                                       arith::FastMathFlagsAttr::get(at.getContext(), arith::FastMathFlags::contract))
                     .getResult();
  }
  /// Returns `x` converted to `type`, which may have fewer bits.
  Value rounded(OpBuilder &at, Value x, Type type) {
    if (type == f)
      return x;
    auto contract = arith::FastMathFlagsAttr::get(at.getContext(), arith::FastMathFlags::contract);
    return arith::TruncFOp::create(at, loc, type, x, arith::RoundingModeAttr(), contract).getResult();
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
  /// Returns the sum of products of the two inputs over the last loop, starting from 0.
  Value products(Value x, AffineMap xMap, Value y, AffineMap yMap, ArrayRef<OpFoldResult> sizes, AffineMap to) {
    return generic({x, y}, {xMap, yMap, to}, filled(sizes, 0), 1, [&](OpBuilder &in, ValueRange a) {
      Value product = arith::MulFOp::create(in, loc, wide(in, a[0]), wide(in, a[1]));
      return arith::AddFOp::create(in, loc, a[2], product).getResult();
    });
  }

  /// Returns scale * Q K^T + mask, or -inf for hidden keys: keys that are masked or, with `causal`, keys after the
  /// query. A head of queries uses the head `keyHead` of the keys.
  Value maskedScores(Value query, Value key, Value mask, AffineExpr keyHead, ArrayRef<OpFoldResult> sizes, double scale,
                     bool causal) {
    AffineExpr d0, d1, d2, d3, d4;
    bindDims(b.getContext(), d0, d1, d2, d3, d4);
    // The loops are b, h, l, s, and d, which is the reduction.
    Value scores = products(query, permutedMap(0, 5, {d0, d1, d2, d4}), key, permutedMap(1, 5, {d0, keyHead, d3, d4}),
                            sizes, map(5, {d0, d1, d2, d3}));
    AffineMap scoreMap = map(4, {d0, d1, d2, d3});
    SmallVector<Value> inputs{scores};
    SmallVector<AffineMap> maps{scoreMap};
    bool isBoolean = false;
    if (mask) {
      auto type = cast<RankedTensorType>(mask.getType());
      isBoolean = type.getElementType().isInteger();
      SmallVector<AffineExpr> reads;
      for (int64_t i = 0; i < type.getRank(); ++i)
        reads.push_back(type.getDimSize(i) == 1 ? getAffineConstantExpr(0, b.getContext())
                                                : dim(4 - type.getRank() + i));
      inputs.push_back(mask);
      maps.push_back(map(4, reads));
    }
    maps.push_back(scoreMap);
    return generic(inputs, maps, tensor::EmptyOp::create(b, loc, sizes, f), 0, [&](OpBuilder &in, ValueRange a) {
      Value x = arith::MulFOp::create(in, loc, a[0], number(in, scale));
      Value lowest = number(in, -std::numeric_limits<double>::infinity());
      if (isBoolean) {
        Value zero = arith::ConstantOp::create(in, loc, in.getZeroAttr(a[1].getType()));
        Value seen = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::ne, a[1], zero);
        x = arith::SelectOp::create(in, loc, seen, x, lowest);
      } else if (mask) {
        x = arith::AddFOp::create(in, loc, x, wide(in, a[1]));
      }
      if (causal) {
        Value row = linalg::IndexOp::create(in, loc, 2), column = linalg::IndexOp::create(in, loc, 3);
        Value seen = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::sle, column, row);
        x = arith::SelectOp::create(in, loc, seen, x, lowest);
      }
      return x;
    });
  }
};

} // namespace

SmallVector<Value> decomposeAttention(OpBuilder &b, tile::AttentionOp op) {
  Value query = op.getInputs()[0], key = op.getInputs()[1], value = op.getInputs()[2];
  Value mask = op.getInputs().size() == 4 ? op.getInputs()[3] : Value();
  AttentionParts parts(b, op, query, op.getPermutations());
  Location loc = op.getLoc();
  Type f = parts.f;
  SmallVector<OpFoldResult> rowSizes{parts.size(query, 0, 0), parts.size(query, 0, 1), parts.size(query, 0, 2)},
      scoreSizes(rowSizes), resultSizes(rowSizes);
  scoreSizes.push_back(parts.size(key, 1, 2));
  resultSizes.push_back(parts.size(value, 2, 3));
  auto heads = [&](Value of, unsigned operand) {
    return cast<RankedTensorType>(of.getType()).getDimSize(parts.position(operand, 1));
  };
  int64_t perKey = heads(query, 0) / heads(key, 1);
  AffineExpr d0, d1, d2, d3, d4;
  bindDims(b.getContext(), d0, d1, d2, d3, d4);
  AffineExpr keyHead = perKey == 1 ? d1 : d1.floorDiv(perKey);
  AffineMap scoreMap = parts.map(4, {d0, d1, d2, d3}), rowMap = parts.map(4, {d0, d1, d2});
  Value masked =
      parts.maskedScores(query, key, mask, keyHead, scoreSizes, op.getScale().convertToDouble(), op.getCausal());
  double infinity = std::numeric_limits<double>::infinity();
  Value max = parts.generic(
      {masked}, {scoreMap, rowMap}, parts.filled(rowSizes, -infinity), 1,
      [&](OpBuilder &in, ValueRange a) { return arith::MaximumFOp::create(in, loc, a[1], a[0]).getResult(); });
  auto orZero = [&](OpBuilder &in, Value m) { // exp(-inf - 0) is 0, whereas exp(-inf + inf) would be NaN
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
  // The loops are b, h, l, dv, and s, which is the reduction.
  Value weighted =
      parts.products(exp, parts.map(5, {d0, d1, d2, d4}), value, parts.permutedMap(2, 5, {d0, keyHead, d4, d3}),
                     resultSizes, parts.map(5, {d0, d1, d2, d3}));
  Value result =
      parts.generic({weighted, sum}, {scoreMap, rowMap, parts.permutedMap(3, 4, {d0, d1, d2, d3})}, op.getOutputs()[0],
                    0, [&](OpBuilder &in, ValueRange a) {
                      Value x = arith::DivFOp::create(in, loc, a[0], a[1]); // 0 / 0 is NaN
                      Value zero = parts.number(in, 0);
                      if (!op.getNanRows())
                        x = arith::SelectOp::create(
                            in, loc, arith::CmpFOp::create(in, loc, arith::CmpFPredicate::OEQ, a[1], zero), zero, x);
                      return parts.rounded(in, x, a[2].getType());
                    });
  AffineMap rows = parts.map(3, {d0, d1, d2});
  Value logsumexp =
      parts.generic({max, sum}, {rows, rows, rows}, op.getOutputs()[1], 0, [&](OpBuilder &in, ValueRange a) {
        Value x = arith::AddFOp::create(in, loc, orZero(in, a[0]), math::LogOp::create(in, loc, a[1]));
        return a[2].getType() == f ? x : arith::TruncFOp::create(in, loc, a[2].getType(), x).getResult();
      });
  return {result, logsumexp};
}

SmallVector<Value> decomposeAttentionGradient(OpBuilder &b, tile::AttentionGradientOp op) {
  ValueRange in = op.getInputs();
  Value query = in[0], key = in[1], value = in[2], result = in[3], grad = in[4], logsumexp = in[5];
  AttentionParts parts(b, op, query, op.getPermutations());
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> rowSizes{parts.size(query, 0, 0), parts.size(query, 0, 1), parts.size(query, 0, 2)},
      scoreSizes(rowSizes);
  scoreSizes.push_back(parts.size(key, 1, 2));
  AffineExpr d0, d1, d2, d3, d4;
  bindDims(b.getContext(), d0, d1, d2, d3, d4);
  AffineMap scoreMap = parts.map(4, {d0, d1, d2, d3}), rowMap = parts.map(4, {d0, d1, d2}),
            sumMap = parts.map(5, {d0, d1, d2, d3});
  const double scale = op.getScale().convertToDouble(), infinity = std::numeric_limits<double>::infinity();
  Value masked =
      parts.maskedScores(query, key, in.size() == 7 ? in[6] : Value(), d1, scoreSizes, scale, op.getCausal());
  Value p = parts.generic({masked, logsumexp}, {scoreMap, rowMap, scoreMap},
                          tensor::EmptyOp::create(b, loc, scoreSizes, parts.f), 0, [&](OpBuilder &in, ValueRange a) {
                            Value sum = parts.wide(in, a[1]);
                            Value none =
                                arith::CmpFOp::create(in, loc, arith::CmpFPredicate::OEQ,
                                                      math::AbsFOp::create(in, loc, sum), parts.number(in, infinity));
                            Value weight = math::ExpOp::create(in, loc, arith::SubFOp::create(in, loc, a[0], sum));
                            return arith::SelectOp::create(in, loc, none, parts.number(in, 0), weight).getResult();
                          });
  // The loops of delta are b, h, l, and dv, which is the reduction. The loops of dp are b, h, l, s, and dv, which is
  // the reduction.
  Value delta = result;
  if (cast<ShapedType>(result.getType()).getRank() == 4)
    delta = parts.products(result, parts.permutedMap(3, 4, {d0, d1, d2, d3}), grad,
                           parts.permutedMap(4, 4, {d0, d1, d2, d3}), rowSizes, parts.map(4, {d0, d1, d2}));
  Value dp = parts.products(grad, parts.permutedMap(4, 5, {d0, d1, d2, d4}), value,
                            parts.permutedMap(2, 5, {d0, d1, d3, d4}), scoreSizes, sumMap);
  Value ds = parts.generic({p, dp, delta}, {scoreMap, scoreMap, rowMap, scoreMap},
                           tensor::EmptyOp::create(b, loc, scoreSizes, parts.f), 0, [&](OpBuilder &in, ValueRange a) {
                             Value slope = arith::SubFOp::create(in, loc, a[1], a[2]);
                             slope = arith::MulFOp::create(in, loc, slope, parts.number(in, scale));
                             return arith::MulFOp::create(in, loc, a[0], slope).getResult();
                           });
  // The loops are b, h, a row of the gradient, its columns, and the other dimension of the scores, which is the
  // reduction.
  AffineMap across = parts.map(5, {d0, d1, d4, d2}), along = parts.map(5, {d0, d1, d2, d4});
  auto gradient = [&](unsigned number, Value factor, AffineMap factorMap, Value with, unsigned operand) {
    Value to = op.getOutputs()[number];
    unsigned resultOperand = 5 + number;
    SmallVector<OpFoldResult> sizes;
    for (unsigned d = 0; d < 4; ++d)
      sizes.push_back(parts.size(to, resultOperand, d));
    Value sum = parts.products(factor, factorMap, with, parts.permutedMap(operand, 5, {d0, d1, d4, d3}), sizes, sumMap);
    return parts.generic({sum}, {scoreMap, parts.permutedMap(resultOperand, 4, {d0, d1, d2, d3})}, to, 0,
                         [&](OpBuilder &in, ValueRange a) { return parts.rounded(in, a[0], a[1].getType()); });
  };
  return {gradient(0, ds, along, key, 1), gradient(1, ds, across, query, 0), gradient(2, p, across, grad, 4)};
}

} // namespace tilewright::reference
