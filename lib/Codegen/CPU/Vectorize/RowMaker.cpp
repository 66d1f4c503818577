//===- RowMaker.cpp - finds the op whose rows only a scatter reads -----------------===//
#include "lib/Codegen/CPU/Vectorize/RowMaker.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tilewright::vector_stage {

bool hasDenseRows(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) && !strides.empty() && strides.back() == 1;
}

linalg::GenericOp rowMakerOf(tile::ScatterOp scatter) {
  auto buffer = scatter.getInputs()[0].getDefiningOp<memref::AllocOp>();
  linalg::GenericOp maker;
  if (!buffer)
    return {};
  for (Operation *user : buffer->getUsers()) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (user == scatter || isa<memref::DeallocOp>(user))
      continue;
    if (maker || !generic || generic.getNumDpsInits() != 1 || generic.getDpsInits()[0] != buffer)
      return {};
    maker = generic;
  }
  if (!maker || maker.getNumReductionLoops() > 0 ||
      !maker.getMatchingIndexingMap(maker.getDpsInitOperand(0)).isIdentity() ||
      maker->getBlock() != scatter->getBlock() || maker.payloadUsesValueFromOperand(maker.getDpsInitOperand(0)))
    return {};
  // Fusion moves the reads after the first writes of the scatter.
  bool readsOut = llvm::is_contained(maker->getOperands(), scatter.getOutputs()[0]);
  for (auto load : maker.getBlock()->getOps<memref::LoadOp>())
    readsOut |= load.getMemRef() == scatter.getOutputs()[0];
  if (readsOut)
    return {};
  const unsigned last = maker.getNumLoops() - 1;
  for (OpOperand *input : maker.getDpsInputOperands()) {
    AffineMap map = maker.getMatchingIndexingMap(input);
    const bool along = map.isFunctionOfDim(last);
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true) ||
        (along && (map.getResults().back() != getAffineDimExpr(last, map.getContext()) ||
                   !hasDenseRows(cast<MemRefType>(input->get().getType())))))
      return {};
  }
  return maker;
}

} // namespace tilewright::vector_stage
