//===- BlockChannels.cpp - arrays that are written and read in blocks ----------------------===//
//
//   for (b < 9) { for (i < 20) { ... a[b * 20 + i][j] ... } }
// becomes
//   for (b < 9) { lock block of a; for (i < 20) { ... block[i][j] ... } }
//
// Test: test/Codegen/HLS/block-channels.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/BlockChannels.h"
#include "lib/Codegen/HLS/Cost.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// An access to an array in affine loops.
struct AffineAccess {
  AffineMap map;
  ValueRange operands;
};

std::optional<AffineAccess> affineAccess(Operation *user, Value array) {
  if (auto load = dyn_cast<affine::AffineLoadOp>(user))
    return AffineAccess{load.getAffineMap(), load.getMapOperands()};
  if (auto store = dyn_cast<affine::AffineStoreOp>(user); store && store.getMemRef() == array)
    return AffineAccess{store.getAffineMap(), store.getMapOperands()};
  return std::nullopt;
}

/// Returns the loop over blocks around an op, or null.
affine::AffineForOp blockLoopOf(Operation *op) {
  affine::AffineForOp loop;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (auto around = dyn_cast<affine::AffineForOp>(parent); around && isBlockLoop(around))
      loop = around;
  return loop;
}

/// Returns `expr`, an index expression of `access`, with the operand `operand` replaced by the constant `number`.
AffineExpr withOperandAt(AffineExpr expr, const AffineAccess &access, Value operand, int64_t number) {
  for (auto [position, its] : llvm::enumerate(access.operands))
    if (its == operand)
      expr =
          expr.replace(getAffineDimExpr(position, expr.getContext()), getAffineConstantExpr(number, expr.getContext()));
  return simplifyAffineExpr(expr, access.map.getNumDims(), access.map.getNumSymbols());
}

/// Returns true if `expr` is a sum of non-negative multiples of loop counters and is less than `limit` in all
/// iterations.
bool isBelow(AffineExpr expr, const AffineAccess &access, int64_t limit) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0 && constant.getValue() < limit;
  bool linear = true;
  expr.walk([&](AffineExpr part) {
    if (auto constant = dyn_cast<AffineConstantExpr>(part))
      linear &= constant.getValue() >= 0;
    else
      linear &=
          isa<AffineDimExpr>(part) || part.getKind() == AffineExprKind::Add || part.getKind() == AffineExprKind::Mul;
  });
  if (!linear)
    return false;
  AffineExpr largest = expr;
  for (auto [position, operand] : llvm::enumerate(access.operands)) {
    auto loop = affine::getForInductionVarOwner(operand);
    if (!loop || !loop.hasConstantBounds() || loop.getConstantLowerBound() != 0)
      return false;
    largest = largest.replace(getAffineDimExpr(position, expr.getContext()),
                              getAffineConstantExpr(loop.getConstantUpperBound() - 1, expr.getContext()));
  }
  auto constant = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(largest, access.map.getNumDims(), 0));
  return constant && constant.getValue() < limit;
}

/// Returns the type of a block, which has `size` elements along dimension `dim` of an array of type `type`. Returns
/// null if `size` is not a multiple of the number of banks along `dim`, because the banks would differ between blocks.
MemRefType blockType(MemRefType type, int64_t dim, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  PartitionAttr banks = banksOf(type);
  SmallVector<PartitionKind> kinds(banks.getKinds());
  SmallVector<int64_t> factors(banks.getFactors());
  const int64_t along = banks.getBanks(dim, type.getDimSize(dim));
  if (size % along != 0)
    return {};
  kinds[dim] = along == 1 ? PartitionKind::None : along == size ? PartitionKind::Complete : PartitionKind::Cyclic;
  factors[dim] = kinds[dim] == PartitionKind::Cyclic ? along : 1;
  return withMemory(MemRefType::get(shape, type.getElementType()),
                    PartitionAttr::get(type.getContext(), kinds, factors), memoryOf(type));
}

} // namespace

std::optional<ArrayBlocks> blocksOf(BlockArgument array) {
  auto type = cast<MemRefType>(array.getType());
  ArrayBlocks blocks{-1, 0, {}};
  affine::AffineForOp loop;
  for (Operation *user : array.getUsers()) {
    std::optional<AffineAccess> access = affineAccess(user, array);
    affine::AffineForOp around = blockLoopOf(user);
    if (!access || !around || (loop && loop != around))
      return std::nullopt;
    loop = around;
    const int64_t trips = loop.getConstantUpperBound();
    for (auto [dim, expr] : llvm::enumerate(access->map.getResults())) {
      AffineExpr first = withOperandAt(expr, *access, loop.getInductionVar(), 0);
      AffineExpr second = withOperandAt(expr, *access, loop.getInductionVar(), 1);
      if (first == second)
        continue;
      auto step = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(second - first, access->map.getNumDims(), 0));
      const bool isKnown = blocks.dim >= 0;
      if (!step || step.getValue() * trips != type.getDimSize(dim) || !isBelow(first, *access, step.getValue()) ||
          (isKnown && (blocks.dim != int64_t(dim) || blocks.size != step.getValue())))
        return std::nullopt;
      blocks.dim = dim;
      blocks.size = step.getValue();
    }
    // An earlier access may have determined `blocks.dim`. This access must also advance along that dimension by one
    // block per iteration.
    if (blocks.dim < 0 || withOperandAt(access->map.getResult(blocks.dim), *access, loop.getInductionVar(), 0) ==
                              withOperandAt(access->map.getResult(blocks.dim), *access, loop.getInductionVar(), 1))
      return std::nullopt;
  }
  if (blocks.dim < 0 || !(blocks.type = blockType(type, blocks.dim, blocks.size)))
    return std::nullopt;
  return blocks;
}

void lockBlocks(BlockArgument array, const ArrayBlocks &blocks, StreamType queue, bool writes) {
  affine::AffineForOp loop = blockLoopOf(*array.user_begin());
  SmallVector<Operation *> users(array.getUsers().begin(), array.getUsers().end());
  array.setType(queue);
  OpBuilder builder(array.getContext());
  builder.setInsertionPointToStart(loop.getBody());
  auto lock = LockOp::create(builder, loop.getLoc(), blocks.type, array, writes);
  for (Operation *user : users) {
    AffineAccess access = *affineAccess(user, array);
    SmallVector<AffineExpr> indices(access.map.getResults());
    indices[blocks.dim] = withOperandAt(indices[blocks.dim], access, loop.getInductionVar(), 0);
    AffineMap map = AffineMap::get(access.map.getNumDims(), 0, indices, user->getContext());
    SmallVector<Value> operands(access.operands);
    builder.setInsertionPoint(user);
    if (auto load = dyn_cast<affine::AffineLoadOp>(user)) {
      auto made = affine::AffineLoadOp::create(builder, user->getLoc(), lock.getBlock(), map, operands);
      load.getResult().replaceAllUsesWith(made.getResult());
    } else {
      auto store = cast<affine::AffineStoreOp>(user);
      affine::AffineStoreOp::create(builder, user->getLoc(), store.getValueToStore(), lock.getBlock(), map, operands);
    }
    user->erase();
  }
}

} // namespace tilewright::hls
