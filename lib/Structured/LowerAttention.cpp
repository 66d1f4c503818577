//===- LowerAttention.cpp - attention stays whole as tw_tile.attention --------===//
//
// Before:
//   %r, %l = tw.attention %q, %k, %v mask(%m : tensor<1x1x8x8xbf16>) {scale = 0.125} : ...
// After:
//   %f = linalg.generic {extf} ins(%m) : tensor<1x1x8x8xf32>
//   %r, %l = tw_tile.attention {scale = 0.125} ins(%q, %k, %v, %f) outs(%empty, %empty_f32)
//
// Test: test/Structured/lower-attention.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Structured/Lowering.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::structured {

/// The mask in rank 4: booleans in i8, anything else in the type scores are computed in.
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

LogicalResult lowerAttention(Lowering &l, graph::AttentionOp op) {
  SmallVector<Value> inputs{l.tensor(op.getQuery()), l.tensor(op.getKey()), l.tensor(op.getValue())};
  Type f = accumulatorType(cast<RankedTensorType>(op.getQuery().getType()).getElementType());
  if (op.getMask()) {
    if (cast<RankedTensorType>(op.getMask().getType()).getRank() > 4)
      return op.emitOpError("has a mask of rank above 4");
    inputs.push_back(attentionMask(l, op.getMask(), f));
  }
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto sumType = cast<RankedTensorType>(op.getLogsumexp().getType());
  SmallVector<AffineExpr> sumSizes = graph::sizesOf(sumType);
  Value result = l.empty(graph::sizesOf(type), storageType(type.getElementType()));
  Value sum = l.empty(sumSizes, accumulatorType(sumType.getElementType()));
  auto attention =
      tile::AttentionOp::create(l.builder, l.loc, TypeRange{result.getType(), sum.getType()}, inputs, Value(),
                                ValueRange{result, sum}, op.getScaleAttr(), op.getCausalAttr(), DenseI64ArrayAttr());
  l.set(op.getResult(), attention.getResult(0));
  l.set(op.getLogsumexp(), l.rounded(attention.getResult(1), sumSizes, sumType.getElementType()));
  return success();
}

} // namespace tilewright::structured
