//===- SumOfParts.cpp - compute an op in parts, in another kernel --------------------------===//
#include "lib/Codegen/GPU/Schedule/SumOfParts.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {

static llvm::SetVector<Value> capturedBy(linalg::LinalgOp op) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegion(0), captured);
  return captured;
}

bool capturesOnlyConstants(linalg::LinalgOp op) {
  return llvm::all_of(capturedBy(op), [](Value value) { return value.getDefiningOp<arith::ConstantOp>() != nullptr; });
}

Value cloneBodyOf(OpBuilder &builder, linalg::LinalgOp op, ValueRange values) {
  IRMapping mapping;
  mapping.map(op.getBlock()->getArguments(), values);
  for (Value number : capturedBy(op))
    builder.clone(*number.getDefiningOp(), mapping);
  for (Operation &each : op.getBlock()->without_terminator())
    builder.clone(each, mapping);
  return mapping.lookup(op.getBlock()->getTerminator()->getOperand(0));
}

SumOfParts::SumOfParts(func::FuncOp kernel, Operation *op, int64_t parts, StringRef name)
    : kernel(kernel), op(op), parts(parts), ofUser(name) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape{parts};
  llvm::append_range(shape, result.getShape());
  partial = RankedTensorType::get(shape, result.getElementType());
  if (auto named = op->getAttrOfType<StringAttr>(opAttrName))
    ofUser = named.getValue().str();
}

void SumOfParts::addOperand(Value argument, int64_t dim) {
  sides.push_back(cast<BlockArgument>(argument).getArgNumber());
  dims.push_back(dim);
}

RankedTensorType SumOfParts::expanded(Value tensor, int64_t dim) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (dim < 0)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[size_t(dim)] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return RankedTensorType::get(shape, type.getElementType());
}

func::FuncOp SumOfParts::makeKernel(OpBuilder &builder) {
  SmallVector<Type> types;
  for (auto [side, dim] : llvm::zip_equal(sides, dims))
    types.push_back(expanded(kernel.getArgument(side), dim));
  types.push_back(partial);
  return gpu::makeKernel(builder, kernel, "_parts", types, {partial}, builder.getStringAttr(ofUser));
}

void SumOfParts::replaceOp(Value init, Combine combine) {
  Location loc = op->getLoc();
  (void)kernel.insertArgument(0, partial, {}, loc);
  setSizes(kernel, 0);
  OpBuilder builder(op);
  const auto rank = unsigned(partial.getRank());
  SmallVector<AffineExpr> from{builder.getAffineDimExpr(rank - 1)}, to;
  for (unsigned dim = 0; dim + 1 < rank; ++dim)
    to.push_back(builder.getAffineDimExpr(dim));
  llvm::append_range(from, to);
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  kinds.back() = utils::IteratorType::reduction;
  auto sum =
      linalg::GenericOp::create(builder, loc, op->getResultTypes(), ValueRange(kernel.getArgument(0)), ValueRange(init),
                                ArrayRef<AffineMap>{AffineMap::get(rank, 0, from, builder.getContext()),
                                                    AffineMap::get(rank, 0, to, builder.getContext())},
                                kinds, [&](OpBuilder &inner, Location at, ValueRange values) {
                                  linalg::YieldOp::create(inner, at, combine(inner, values[1], values[0]));
                                });
  sum->setAttr(opAttrName, builder.getStringAttr("sum of parts"));
  op->replaceAllUsesWith(sum);
  op->erase();
  if (auto ops = kernel->getAttrOfType<StringAttr>(opsAttrName))
    kernel->setAttr(opsAttrName, builder.getStringAttr("sum of parts+" + ops.getValue().str()));
}

void SumOfParts::rewriteCalls(ModuleOp module, func::FuncOp first) {
  passNewFirst(module, kernel, sides, [&](OpBuilder &builder, func::CallOp call) {
    Location loc = call.getLoc();
    SmallVector<Value> operands;
    for (auto [side, dim] : llvm::zip_equal(sides, dims)) {
      Value whole = call.getOperand(side);
      if (dim < 0) {
        operands.push_back(whole);
        continue;
      }
      SmallVector<ReassociationIndices> groups;
      for (int64_t i = 0, next = 0; i < cast<ShapedType>(whole.getType()).getRank(); ++i) {
        groups.push_back(i == dim ? ReassociationIndices{next, next + 1} : ReassociationIndices{next});
        next += i == dim ? 2 : 1;
      }
      operands.push_back(tensor::ExpandShapeOp::create(builder, loc, expanded(whole, dim), whole, groups));
    }
    operands.push_back(tensor::EmptyOp::create(builder, loc, partial.getShape(), partial.getElementType()));
    auto made = func::CallOp::create(builder, loc, first, operands);
    made->setAttr(opsAttrName, builder.getStringAttr(ofUser));
    return made.getResult(0);
  });
}

} // namespace tilewright::gpu
