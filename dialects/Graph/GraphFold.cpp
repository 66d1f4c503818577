//===- GraphFold.cpp - fold identity views and compositions of views --------------------===//
//
//   reshape, permute, broadcast, slice without any effect    ->  their input
//   reshape(reshape(x))                                      ->  reshape(x)
//   permute(permute(x, p), q)                                ->  permute(x, p[q])
//   broadcast(broadcast(x))                                  ->  broadcast(x)
//   require(true, x)                                         ->  x
//   slice(slice(x))                                          ->  slice(x), offsets and strides combined
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

} // namespace tilewright::graph
