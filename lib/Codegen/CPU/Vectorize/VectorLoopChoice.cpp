//===- VectorLoopChoice.cpp - selects the loop of a structured op to vectorize --===//
#include "lib/Codegen/CPU/Vectorize/LoopVectorizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::vector_stage {

Access accessAlong(linalg::LinalgOp op, OpOperand &operand, unsigned loop) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return Access::Uniform;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  int64_t at = -1;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (at >= 0)
      return Access::Scattered;
    at = dim;
  }
  if (at < 0)
    return Access::Uniform;
  // The access is contiguous under three conditions. Each iteration of the loop increments the index of dimension `at`
  // by 1, that is, expr = d_loop + (an expression without d_loop). All later dimensions have size 1. The stride of
  // dimension `at` is 1.
  AffineExpr expr = map.getResult(at), d = getAffineDimExpr(loop, map.getContext());
  AffineExpr rest = simplifyAffineExpr(expr - d, map.getNumDims(), 0);
  bool last = llvm::all_of(type.getShape().drop_front(at + 1), [](int64_t size) { return size == 1; });
  if (!last || rest.isFunctionOfDim(loop))
    return Access::Scattered;
  auto [strides, offset] = type.getStridesAndOffset();
  return strides[at] == 1 ? Access::Contiguous : Access::Scattered;
}

std::optional<int64_t> stepAlong(linalg::LinalgOp op, AffineExpr expr, unsigned loop) {
  AffineExpr d = getAffineDimExpr(loop, op.getContext());
  auto step = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(expr.replace(d, d + 1) - expr, op.getNumLoops(), 0));
  return step ? std::optional<int64_t>(step.getValue()) : std::nullopt;
}

int64_t lanesFor(int64_t size, int64_t lanes) {
  return ShapedType::isDynamic(size) ? lanes : std::min<int64_t>(lanes, llvm::PowerOf2Ceil(size));
}

int64_t smallStride(linalg::LinalgOp op, OpOperand &operand, unsigned loop) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return 0;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  int64_t stride = 0;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    std::optional<int64_t> step = stepAlong(op, expr, loop);
    if (!step || ShapedType::isDynamic(strides[dim]))
      return 0;
    stride += *step * strides[dim];
  }
  return isSmallStride(stride) ? stride : 0;
}

bool isStoredInSteps(linalg::LinalgOp op, unsigned number) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(number));
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::reduction && map.isFunctionOfDim(loop))
      return true;
  return false;
}

static bool allReductionsCombine(linalg::LinalgOp op) {
  for (unsigned number = 0; number < op.getNumDpsInits(); ++number)
    if (!isStoredInSteps(op, number) && !tile::combinerOf(op, number))
      return false;
  return true;
}

bool bodyHasVectorForm(linalg::LinalgOp op) {
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (isa<linalg::IndexOp, arith::ConstantOp>(inner))
      continue;
    if (auto load = dyn_cast<memref::LoadOp>(inner))
      continue;
    if (!OpTrait::hasElementwiseMappableTraits(&inner) || inner.getNumResults() != 1)
      return false;
  }
  return true;
}

VectorLoop chooseVectorLoop(linalg::LinalgOp op, int64_t lanes) {
  auto none = [](llvm::StringLiteral reason) {
    VectorLoop loop;
    loop.reason = reason;
    return loop;
  };
  if (!bodyHasVectorForm(op))
    return none("an op of its body has no vector form");
  VectorLoop best = none("its results are not contiguous along any loop that reads or combines elements independently");
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  bool combines = allReductionsCombine(op);
  double bestCost = 0;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    bool reduction = iterators[loop] == utils::IteratorType::reduction;
    int64_t size = sizes[loop];
    if (size == 0)
      return none("it has no elements");
    if (size == 1 || (reduction && !combines))
      continue;
    bool possible = true;
    double cost = 1;
    for (OpOperand &operand : op->getOpOperands()) {
      Access access = accessAlong(op, operand, loop);
      bool output = op.isDpsInit(&operand);
      bool combined = reduction && output && !isStoredInSteps(op, operand.getOperandNumber() - op.getNumDpsInputs());
      if (output && access != (combined ? Access::Uniform : Access::Contiguous))
        possible = false;
      const int64_t stride = access == Access::Scattered ? smallStride(op, operand, loop) : 0;
      cost += stride ? 2.0 * double(stride) : access == Access::Scattered ? 16 : access == Access::Contiguous ? 1 : 0.5;
    }
    if (!possible)
      continue;
    // A loop with few elements leaves lanes unused. A horizontal reduction takes about a dozen instructions per result.
    int64_t wide = lanesFor(size, lanes);
    double used = ShapedType::isDynamic(size) ? 0.9 : static_cast<double>(size) / (llvm::divideCeil(size, wide) * wide);
    cost /= wide * used;
    if (reduction)
      cost *= 1.0 + 12.0 / (ShapedType::isDynamic(size) ? 256.0 : std::max<int64_t>(size, 1));
    if (best.loop < 0 || cost < bestCost) {
      best = {static_cast<int64_t>(loop), reduction, wide, ""};
      bestCost = cost;
    }
  }
  double elementCost = 1 + op->getNumOperands();
  if (best.loop >= 0 && bestCost > elementCost)
    return none("its operands would be gathered element by element, which takes longer than scalar code");
  return best;
}

} // namespace tilewright::vector_stage
