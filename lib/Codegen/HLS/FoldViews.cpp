//===- FoldViews.cpp - access arrays directly, not through views --------------------------===//
//
// Before:
//   %v = memref.subview %a[0, 4] [8, 3] [1, 2] : memref<8x12xf32> to memref<8x3xf32, strided<[12, 2], offset: 4>>
//   affine.load %v[%i, %j]
// After:
//   affine.load %a[%i, %j * 2 + 4]
//
// Test: test/Codegen/HLS/apply-schedules.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/FoldViews.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

using Index = SmallVector<AffineExpr>;

/// Returns the index, in the source of `view`, of the element at `index` of `view`.
FailureOr<Index> indexInSource(memref::SubViewOp view, ArrayRef<AffineExpr> index) {
  if (llvm::any_of(view.getStaticOffsets(), ShapedType::isDynamic) ||
      llvm::any_of(view.getStaticStrides(), ShapedType::isDynamic))
    return failure();
  Builder builder(view.getContext());
  llvm::SmallBitVector dropped = view.getDroppedDims();
  Index source;
  size_t next = 0;
  for (auto [dim, offset, stride] : llvm::enumerate(view.getStaticOffsets(), view.getStaticStrides())) {
    AffineExpr at = builder.getAffineConstantExpr(offset);
    source.push_back(dropped[dim] ? at : index[next++] * stride + at);
  }
  return source;
}

FailureOr<Index> indexInSource(memref::ExpandShapeOp view, ArrayRef<AffineExpr> index) {
  ArrayRef<int64_t> shape = view.getResultType().getShape();
  Index source;
  for (const ReassociationIndices &group : view.getReassociationIndices()) {
    AffineExpr linear = getAffineConstantExpr(0, view.getContext());
    for (int64_t dim : group)
      linear = linear * shape[dim] + index[dim];
    source.push_back(linear);
  }
  return source;
}

FailureOr<Index> indexInSource(memref::CollapseShapeOp view, ArrayRef<AffineExpr> index) {
  ArrayRef<int64_t> shape = view.getSrcType().getShape();
  Index source(shape.size());
  for (auto [linear, group] : llvm::zip(index, view.getReassociationIndices())) {
    AffineExpr rest = linear;
    for (int64_t dim : llvm::reverse(group)) {
      source[dim] = dim == group.front() ? rest : rest % shape[dim];
      rest = rest.floorDiv(shape[dim]);
    }
  }
  return source;
}

FailureOr<Index> indexInSource(Operation *view, ArrayRef<AffineExpr> index) {
  if (auto slice = dyn_cast<memref::SubViewOp>(view))
    return indexInSource(slice, index);
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(view))
    return indexInSource(expand, index);
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(view))
    return indexInSource(collapse, index);
  if (isa<memref::CastOp>(view))
    return Index(index);
  return failure();
}

/// Returns true if the operand and the result of `view` have static shapes. Otherwise an affine map cannot describe the
/// index of an element in the operand.
bool isStatic(Operation *view) {
  auto has = [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    return type && type.hasStaticShape();
  };
  return has(view->getOperand(0)) && has(view->getResult(0));
}

/// Returns the array from which `view` is derived, and `map` composed with the index maps of the views between the
/// array and `view`. The search stops at a view whose index map is not affine.
std::pair<Value, AffineMap> below(Value view, AffineMap map) {
  while (Operation *op = view.getDefiningOp()) {
    if (!isa<ViewLikeOpInterface>(op) || !isStatic(op))
      break;
    FailureOr<Index> index = indexInSource(op, map.getResults());
    if (failed(index))
      break;
    view = op->getOperand(0);
    map = simplifyAffineMap(AffineMap::get(map.getNumDims(), map.getNumSymbols(), *index, op->getContext()));
  }
  return {view, map};
}

} // namespace

Value arrayOf(Value view) {
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>())
    view = op.getViewSource();
  return view;
}

void foldViews(func::FuncOp kernel) {
  SmallVector<Operation *> views;
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<affine::AffineLoadOp>(op)) {
      auto [array, map] = below(load.getMemRef(), load.getAffineMap());
      load.setMemRef(array);
      load.setMap(map);
    } else if (auto store = dyn_cast<affine::AffineStoreOp>(op)) {
      auto [array, map] = below(store.getMemRef(), store.getAffineMap());
      store.setMemRef(array);
      store.setMap(map);
    } else if (isa<ViewLikeOpInterface>(op)) {
      views.push_back(op);
    }
  });
  for (Operation *view : llvm::reverse(views))
    if (view->use_empty())
      view->erase();
}

} // namespace tilewright::hls
