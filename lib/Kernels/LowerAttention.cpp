//===- LowerAttention.cpp - attention to tw_tile.attention -------------------===//
//
// Before:
//   %q = tw.permute %x {permutation = [0, 2, 1, 3]} : tensor<2x8x4x16xbf16> -> tensor<2x4x8x16xbf16>
//   %r, %l = tw.attention %q, %k, %v mask(%m : tensor<1x1x8x8xbf16>) {scale = 0.125} : ...
// After (permutes of the operands and of the result become an attribute):
//   %f = linalg.generic {extf} ins(%m) : tensor<1x1x8x8xf32>
//   %r, %l = tw_tile.attention {scale = 0.125, permutations = [0, 2, 1, 3, ...]} ins(%x, %k, %v, %f) outs(...)
//
// With the option attention-delta, the gradient reads sum(dO * O) of each row instead of the result O:
//   %d = linalg.contract ins(%o, %grad) : tensor<2x4x8xf32>
//   %dq, %dk, %dv = tw_tile.attention_gradient ins(%q, %k, %v, %d, %grad, %logsumexp) outs(...)
//
// Attention in f64 is decomposed after this pass (--tw-decompose-tile with wide-attention-only), because the online
// softmax supports only f32 scores.
//
// Test: test/Kernels/lower-attention.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Kernels/Lowering.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::structured {

/// Returns the mask with rank 4. Booleans are stored as i8; other types are converted to the type of the scores.
static Value attentionMask(Lowering &l, Value mask, Type f) {
  auto type = cast<RankedTensorType>(mask.getType());
  SmallVector<AffineExpr> own = graph::sizesOf(type), sizes(4 - own.size(), l.constant(1));
  llvm::append_range(sizes, own);
  Value tensor;
  if (type.getElementType().isInteger(1) || type.getElementType() == f) {
    tensor = l.tensor(mask);
  } else {
    Read read = l.read(mask, l.identity(own.size()));
    tensor = l.elementwise(own, f, read, [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
      Value x = in[0];
      if (x.getType() != f)
        x = x.getType().isF64() ? arith::TruncFOp::create(b, at, f, x).getResult()
                                : arith::ExtFOp::create(b, at, f, x).getResult();
      return SmallVector<Value>{x};
    });
  }
  return l.reshaped(tensor, own, sizes);
}

/// Returns true if the rows of a head (dimension 2) precede its columns (dimension 3), which kernels require. Heads and
/// batches may have any position.
static bool hasRowsBeforeColumns(ArrayRef<int64_t> positions) { return positions[2] < positions[3]; }

/// Returns an operand, and appends to `permutations` the dimension of this operand for each canonical dimension. A
/// permute after which rows precede columns becomes part of the permutation; other permutes are materialized.
static Value attentionOperand(Lowering &l, Value graphValue, SmallVector<int64_t> &permutations) {
  Read read = l.read(graphValue, l.identity(4));
  SmallVector<int64_t> positions;
  if (!read.splat && read.map.isPermutation())
    for (unsigned d = 0; d < 4; ++d)
      positions.push_back(*read.map.getResultPosition(l.dim(d)));
  if (positions.empty() || !hasRowsBeforeColumns(positions)) {
    permutations.append({0, 1, 2, 3});
    return l.tensor(graphValue);
  }
  llvm::append_range(permutations, positions);
  return read.base;
}

/// Returns the positions of the result's dimensions in memory. If a permute is the only user of the result, and kernels
/// can write the permuted layout, these are the positions after the permute.
static SmallVector<int64_t> resultPermutation(Value result) {
  SmallVector<int64_t> positions{0, 1, 2, 3};
  auto permute = result.hasOneUse() ? dyn_cast<graph::PermuteOp>(*result.user_begin()) : graph::PermuteOp();
  if (!permute)
    return positions;
  for (auto [position, d] : llvm::enumerate(permute.getPermutation()))
    positions[d] = position;
  return hasRowsBeforeColumns(positions) ? positions : SmallVector<int64_t>{0, 1, 2, 3};
}

namespace {
/// A result of rank 4 in the layout that its consumer needs.
struct PermutedResult {
  PermutedResult(Lowering &l, Value graphValue, SmallVector<int64_t> &permutations) : graphValue(graphValue), reads(4) {
    auto type = cast<RankedTensorType>(graphValue.getType());
    SmallVector<AffineExpr> sizes = graph::sizesOf(type), permuted(sizes);
    SmallVector<int64_t> positions = resultPermutation(graphValue);
    for (unsigned d = 0; d < 4; ++d) {
      permuted[positions[d]] = sizes[d];
      reads[positions[d]] = l.dim(d);
    }
    llvm::append_range(permutations, positions);
    empty = l.empty(permuted, storageType(type.getElementType()));
  }
  void set(Lowering &l, Value made) {
    l.setRead(graphValue,
              {made, l.map(4, reads), TypedAttr(), cast<RankedTensorType>(graphValue.getType()).getElementType()});
  }

  Value graphValue, empty;
  SmallVector<AffineExpr> reads;
};
} // namespace

/// Returns the permutations as an attribute, or null if all operands and results are in canonical order.
static DenseI64ArrayAttr permutationsAttr(Lowering &l, ArrayRef<int64_t> permutations) {
  if (llvm::all_of(llvm::enumerate(permutations), [](auto p) { return p.value() == int64_t(p.index() % 4); }))
    return {};
  return l.builder.getDenseI64ArrayAttr(permutations);
}

LogicalResult lowerAttention(Lowering &l, graph::AttentionOp op) {
  SmallVector<int64_t> permutations;
  SmallVector<Value> inputs;
  Type element = cast<RankedTensorType>(op.getQuery().getType()).getElementType(), f = accumulatorType(element);
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
    inputs.push_back(attentionOperand(l, operand, permutations));
  if (op.getMask()) {
    if (cast<RankedTensorType>(op.getMask().getType()).getRank() > 4)
      return op.emitOpError("has a mask of rank above 4");
    inputs.push_back(attentionMask(l, op.getMask(), f));
  }
  auto sumType = cast<RankedTensorType>(op.getLogsumexp().getType());
  SmallVector<AffineExpr> sumSizes = graph::sizesOf(sumType);
  PermutedResult result(l, op.getResult(), permutations);
  Value sum = l.empty(sumSizes, accumulatorType(sumType.getElementType()));
  auto attention =
      tile::AttentionOp::create(l.builder, l.loc, TypeRange{result.empty.getType(), sum.getType()}, inputs,
                                /*first_row=*/Value(), ValueRange{result.empty, sum}, op.getScaleAttr(),
                                op.getCausalAttr(), op.getNanRowsAttr(), permutationsAttr(l, permutations));
  result.set(l, attention.getResult(0));
  l.set(op.getLogsumexp(), l.rounded(attention.getResult(1), sumSizes, sumType.getElementType()));
  return success();
}

/// Returns sum(dO * O) of each row, as a tensor of batch x heads x rows. `permutations` has four positions for each of
/// the operands `result` and `grad`.
static Value rowProducts(Lowering &l, graph::AttentionGradientOp op, Value result, Value grad,
                         ArrayRef<int64_t> permutations) {
  SmallVector<AffineExpr> sizes = graph::sizesOf(cast<RankedTensorType>(op.getResult().getType()));
  auto readMap = [&](ArrayRef<int64_t> positions) {
    SmallVector<AffineExpr> read(4);
    for (unsigned d = 0; d < 4; ++d)
      read[size_t(positions[d])] = l.dim(d);
    return l.map(4, read);
  };
  const NamedAttribute name(l.builder.getStringAttr(opAttrName), l.builder.getStringAttr("attention_delta"));
  return l.contract(result, grad,
                    {readMap(permutations.take_front(4)), readMap(permutations.drop_front(4)),
                     l.map(4, {l.dim(0), l.dim(1), l.dim(2)})},
                    ArrayRef<AffineExpr>(sizes).drop_back(),
                    accumulatorType(getElementTypeOrSelf(op.getGrad().getType())), name);
}

LogicalResult lowerAttentionGradient(Lowering &l, graph::AttentionGradientOp op) {
  SmallVector<int64_t> permutations;
  SmallVector<Value> inputs, outputs;
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue(), op.getResult(), op.getGrad()})
    inputs.push_back(attentionOperand(l, operand, permutations));
  if (l.attentionDelta) {
    constexpr size_t result = 3, grad = 4;
    MutableArrayRef<int64_t> ofResult = MutableArrayRef<int64_t>(permutations).slice(result * 4, 4);
    inputs[result] =
        rowProducts(l, op, inputs[result], inputs[grad], ArrayRef<int64_t>(permutations).slice(result * 4, 8));
    std::iota(ofResult.begin(), ofResult.end(), 0);
  }
  inputs.push_back(l.tensor(op.getLogsumexp()));
  if (op.getMask())
    inputs.push_back(attentionMask(l, op.getMask(),
                                   accumulatorType(cast<RankedTensorType>(op.getQuery().getType()).getElementType())));
  SmallVector<PermutedResult> results;
  SmallVector<Type> types;
  for (Value result : op.getResults()) {
    results.emplace_back(l, result, permutations);
    outputs.push_back(results.back().empty);
    types.push_back(outputs.back().getType());
  }
  auto gradient = tile::AttentionGradientOp::create(l.builder, l.loc, types, inputs, outputs, op.getScaleAttr(),
                                                    op.getCausalAttr(), permutationsAttr(l, permutations));
  for (auto [result, made] : llvm::zip_equal(results, gradient.getResults()))
    result.set(l, made);
  return success();
}

} // namespace tilewright::structured
