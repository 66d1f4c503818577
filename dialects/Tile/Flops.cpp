//===- Flops.cpp - the number of operations of a kernel's contractions ------===//
//
// Tests: test/Codegen/CPU/Schedule/select-schedule.mlir, test/Codegen/GPU/Schedule/select-schedule.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Flops.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::tile {

/// Returns the number of operations if `op` is a sum of products, such as linalg.contract or a sum over windows.
static AffineExpr flopsOfSums(linalg::LinalgOp op) {
  MLIRContext *context = op->getContext();
  auto has = [&](auto is) { return llvm::any_of(*op.getBlock(), is); };
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() < 2 ||
      !has([](Operation &inner) { return isa<arith::MulFOp, arith::MulIOp>(inner); }) ||
      !has([](Operation &inner) { return isa<arith::AddFOp, arith::AddIOp>(inner); }))
    return getAffineConstantExpr(0, context);
  AffineExpr total = getAffineConstantExpr(2, context);
  for (unsigned loop = 0; total && loop < op.getNumLoops(); ++loop) {
    AffineExpr extent;
    for (OpOperand &operand : op->getOpOperands())
      if (std::optional<unsigned> dim =
              op.getMatchingIndexingMap(&operand).getResultPosition(getAffineDimExpr(loop, context));
          dim && !extent)
        extent = sizeOf(operand.get(), *dim);
    total = extent ? total * extent : AffineExpr();
  }
  return total;
}

/// Returns the number of multiplications and additions of a contraction as an expression of the kernel's index
/// arguments. Returns null if a size is unknown, and 0 if `op` is not a contraction.
static AffineExpr flopsOf(Operation *op) {
  AffineExpr total = getAffineConstantExpr(2, op->getContext());
  auto times = [&](Value value, int64_t dim) {
    AffineExpr size = tile::sizeOf(value, dim);
    total = total && size ? total * size : AffineExpr();
  };
  auto timesAll = [&](Value value) {
    for (int64_t dim = 0; dim < cast<ShapedType>(value.getType()).getRank(); ++dim)
      times(value, dim);
  };
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    timesAll(matmul->getResult(0));
    times(matmul.getInputs()[0], matmul.getLhsPermutation().back());
    return total;
  }
  if (auto convolution = dyn_cast<ConvolutionOp>(op)) {
    timesAll(convolution->getResult(0));
    // The weight is padded to whole groups of k. The number of operations includes the operations on the padding.
    Value weight = convolution.getInputs()[1];
    for (int64_t dim = 1, rank = cast<ShapedType>(weight.getType()).getRank(); dim + 1 < rank; ++dim)
      times(weight, dim);
    return total ? total * convolution.getGroup() : total;
  }
  if (auto gradient = dyn_cast<DepthwiseGradientOp>(op)) {
    timesAll(gradient.getInputs()[1]);
    for (int64_t dim = 2; dim < 4; ++dim)
      times(gradient->getResult(0), dim);
    return total;
  }
  if (auto grouped = dyn_cast<GroupedConvolutionOp>(op)) {
    timesAll(grouped->getResult(0));
    for (int64_t dim = 0; dim < 3; ++dim)
      times(grouped.getInputs()[1], dim);
    return total;
  }
  // The formula assumes that values have as many columns as keys, and includes the scores that a causal mask excludes.
  auto attended = [&](auto attention, int64_t products) {
    timesAll(attention->getResult(0));
    AffineExpr keys = keysOf(attention);
    return total && keys ? total * keys * products : AffineExpr();
  };
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return flopsOfSums(structured);
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attended(attention, 2);
  if (auto gradient = dyn_cast<AttentionGradientOp>(op))
    return attended(gradient, 5);
  return getAffineConstantExpr(0, op->getContext());
}

void setFlops(func::FuncOp kernel) {
  if (kernel.isDeclaration())
    return;
  AffineExpr total = getAffineConstantExpr(0, kernel.getContext());
  for (Operation &op : kernel.getBody().front())
    if (AffineExpr flops = flopsOf(&op))
      total = total + flops;
  if (total != getAffineConstantExpr(0, kernel.getContext()))
    kernel->setAttr(flopsAttrName, AffineMapAttr::get(AffineMap::get(0, tile::indexArguments(kernel).size(), total)));
}

} // namespace tilewright::tile
