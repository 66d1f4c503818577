//===- GraphFold.cpp - fold ops without effect and compositions of views ----------------===//
//
//   reshape, permute, broadcast, slice without any effect    ->  their input
//   reshape(reshape(x))                                      ->  reshape(x)
//   permute(permute(x, p), q)                                ->  permute(x, p[q])
//   broadcast(broadcast(x))                                  ->  broadcast(x)
//   require(true, x)                                         ->  x
//   slice(slice(x))                                          ->  slice(x), offsets and strides combined
//   reduce(x), all reduced dimensions have size 1            ->  x, or reshape(x) without `keepdim`
//   div(x, 1.0)                                              ->  x
//
// A mean over one element is such a sum and quotient. Without these folds, a later stage contracts `x * y - mean(x *
// y)` to one fused multiply-add, which returns the rounding error of the product instead of 0. The sum of one -0.0 is
// then -0.0, but eager returns 0.0.
//
// A composition outer(inner(x)) of two views is folded in place: x becomes the operand of `outer`.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/GraphVerify.h"

using namespace mlir;

namespace tilewright::graph {

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult RequireOp::fold(FoldAdaptor adaptor) {
  auto condition = dyn_cast_or_null<DenseElementsAttr>(adaptor.getCondition());
  const bool holds = condition && condition.isSplat() && condition.getSplatValue<APInt>().isOne();
  if (holds && getInput().getType() == getResult().getType())
    return getInput();
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return {};
}

OpFoldResult PermuteOp::fold(FoldAdaptor) {
  if (llvm::is_sorted(getPermutation()))
    return getInput();
  if (auto inner = getInput().getDefiningOp<PermuteOp>()) {
    SmallVector<int64_t> combined;
    for (int64_t dim : getPermutation())
      combined.push_back(inner.getPermutation()[dim]);
    getInputMutable().assign(inner.getInput());
    setPermutation(combined);
    return getResult();
  }
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<BroadcastOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return {};
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool unmoved = llvm::all_of(getStrides(), [](int64_t s) { return s == 1; }) &&
                 llvm::all_of(getOffsets().getResults(), [](AffineExpr e) { return constantOf(e) == 0; });
  if (unmoved && getInput().getType() == getResult().getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<SliceOp>()) {
    SmallVector<AffineExpr> offsets;
    SmallVector<int64_t> strides;
    for (auto [outerOffset, innerOffset, outerStride, innerStride] :
         llvm::zip(getOffsets().getResults(), inner.getOffsets().getResults(), getStrides(), inner.getStrides())) {
      offsets.push_back(canonicalSize(innerOffset + outerOffset * innerStride));
      strides.push_back(outerStride * innerStride);
    }
    unsigned symbols = std::max(getOffsets().getNumSymbols(), inner.getOffsets().getNumSymbols());
    getInputMutable().assign(inner.getInput());
    setOffsets(AffineMap::get(0, symbols, offsets, getContext()));
    setStrides(strides);
    return getResult();
  }
  return {};
}

/// Returns true if each result of `op` is the reduction of one element of the same type.
static bool reducesOneElement(ReduceOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  return llvm::all_of(op.getDims(), [&](int64_t dim) { return input.getDimSize(dim) == 1; }) &&
         input.getElementType() == getElementTypeOrSelf(op.getResult());
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return reducesOneElement(*this) && getInput().getType() == getResult().getType() ? getInput() : Value();
}

LogicalResult ReduceOp::canonicalize(ReduceOp op, PatternRewriter &rewriter) {
  if (!reducesOneElement(op))
    return rewriter.notifyMatchFailure(op, "a reduced dimension has a size other than 1, or the element type changes");
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
  return success();
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  auto divisor = dyn_cast_or_null<DenseFPElementsAttr>(adaptor.getRhs());
  const bool byOne = divisor && divisor.isSplat() && divisor.getSplatValue<APFloat>().isExactlyValue(1.0);
  return byOne && getLhs().getType() == getResult().getType() ? getLhs() : Value();
}

} // namespace tilewright::graph
