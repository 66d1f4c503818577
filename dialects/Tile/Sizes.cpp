//===- Sizes.cpp - sizes as expressions over a function's index arguments -----===//
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::tile {

SmallVector<Value> indexArguments(FunctionOpInterface function) {
  SmallVector<Value> indices;
  for (BlockArgument argument : function.getArguments())
    if (isa<IndexType>(argument.getType()))
      indices.push_back(argument);
  return indices;
}

AffineExpr exprOf(Value value) {
  MLIRContext *context = value.getContext();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (!function || !isa<IndexType>(argument.getType()))
      return {};
    unsigned position = 0;
    for (BlockArgument other : function.getArguments().take_front(argument.getArgNumber()))
      position += isa<IndexType>(other.getType());
    return getAffineSymbolExpr(position, context);
  }
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return getAffineConstantExpr(*constant, context);
  if (auto apply = value.getDefiningOp<affine::AffineApplyOp>()) {
    SmallVector<AffineExpr> dims, symbols;
    AffineMap map = apply.getAffineMap();
    for (auto [index, operand] : llvm::enumerate(apply.getMapOperands())) {
      AffineExpr expr = exprOf(operand);
      if (!expr)
        return {};
      (index < map.getNumDims() ? dims : symbols).push_back(expr);
    }
    return map.getResult(0).replaceDimsAndSymbols(dims, symbols);
  }
  if (auto dim = value.getDefiningOp<ShapedDimOpInterface>()) {
    std::optional<int64_t> number = getConstantIntValue(dim.getDimension());
    return number ? sizeOf(dim.getShapedValue(), *number) : AffineExpr();
  }
  if (Operation *op = value.getDefiningOp(); op && op->getNumOperands() == 2) {
    AffineExpr lhs = exprOf(op->getOperand(0)), rhs = exprOf(op->getOperand(1));
    if (!lhs || !rhs)
      return {};
    if (isa<arith::AddIOp>(op))
      return lhs + rhs;
    if (isa<arith::SubIOp>(op))
      return lhs - rhs;
    if (isa<arith::MulIOp>(op))
      return lhs * rhs;
  }
  return {};
}

AffineExpr exprOf(OpFoldResult value, MLIRContext *context) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return getAffineConstantExpr(*constant, context);
  return exprOf(cast<Value>(value));
}

AffineExpr sizeOf(Value value, int64_t dim) {
  MLIRContext *context = value.getContext();
  auto type = cast<ShapedType>(value.getType());
  if (!type.isDynamicDim(dim))
    return getAffineConstantExpr(type.getDimSize(dim), context);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (!function)
      return {};
    auto sizes = function.getArgAttrOfType<AffineMapAttr>(argument.getArgNumber(), sizesAttrName);
    return sizes ? sizes.getValue().getResult(dim) : AffineExpr();
  }
  Operation *op = value.getDefiningOp();
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return exprOf(empty.getMixedSizes()[dim], context);
  if (auto alloc = dyn_cast<memref::AllocOp>(op))
    return exprOf(alloc.getMixedSizes()[dim], context);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    // A rank-reducing slice does not change the order of the remaining dimensions.
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    int64_t left = dim;
    for (auto [index, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(index) && left-- == 0)
        return exprOf(size, context);
    return {};
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return exprOf(expand.getMixedOutputShape()[dim], context);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    AffineExpr product = getAffineConstantExpr(1, context);
    SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
    for (int64_t source : groups[dim]) {
      AffineExpr size = sizeOf(collapse.getSrc(), source);
      if (!size)
        return {};
      product = product * size;
    }
    return product;
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return sizeOf(insert.getDest(), dim);
  if (auto castOp = dyn_cast<tensor::CastOp>(op))
    return sizeOf(castOp.getSource(), dim);
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    AffineExpr low = exprOf(pad.getMixedLowPad()[dim], context), high = exprOf(pad.getMixedHighPad()[dim], context);
    AffineExpr source = sizeOf(pad.getSource(), dim);
    return low && high && source ? source + low + high : AffineExpr();
  }
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return sizeOf(dps.getTiedOpOperand(cast<OpResult>(value))->get(), dim);
  if (auto call = dyn_cast<func::CallOp>(op))
    return sizeOf(
        call.getOperand(call.getNumOperands() - call.getNumResults() + cast<OpResult>(value).getResultNumber()), dim);
  return {};
}

SmallVector<AffineExpr> sizesOf(Value value) {
  SmallVector<AffineExpr> sizes;
  for (int64_t dim = 0; dim < cast<ShapedType>(value.getType()).getRank(); ++dim) {
    AffineExpr size = sizeOf(value, dim);
    if (!size)
      return {};
    sizes.push_back(size);
  }
  return sizes;
}

OpFoldResult materialize(OpBuilder &builder, Location loc, AffineExpr expr, ValueRange symbols) {
  SmallVector<OpFoldResult> operands(symbols.begin(), symbols.end());
  return affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(0, symbols.size(), expr), operands);
}

} // namespace tilewright::tile
