//===- RowProducer.cpp - finds the op whose rows only a scatter reads -----------------===//
#include "lib/Codegen/CPU/Vectorize/RowProducer.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tilewright::vector_stage {

bool hasDenseRows(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) && !strides.empty() && strides.back() == 1;
}

linalg::GenericOp rowProducerOf(tile::ScatterOp scatter) {
  auto buffer = scatter.getInputs()[0].getDefiningOp<memref::AllocOp>();
  linalg::GenericOp producer;
  if (!buffer)
    return {};
  for (Operation *user : buffer->getUsers()) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (user == scatter || isa<memref::DeallocOp>(user))
      continue;
    if (producer || !generic || generic.getNumDpsInits() != 1 || generic.getDpsInits()[0] != buffer)
      return {};
    producer = generic;
  }
  if (!producer || producer.getNumReductionLoops() > 0 ||
      !producer.getMatchingIndexingMap(producer.getDpsInitOperand(0)).isIdentity() ||
      producer->getBlock() != scatter->getBlock() ||
      producer.payloadUsesValueFromOperand(producer.getDpsInitOperand(0)))
    return {};
  // Fusion moves the producer's reads after the first writes of the scatter, so the producer must not read the output.
  bool readsOut = llvm::is_contained(producer->getOperands(), scatter.getOutputs()[0]);
  for (auto load : producer.getBlock()->getOps<memref::LoadOp>())
    readsOut |= load.getMemRef() == scatter.getOutputs()[0];
  if (readsOut)
    return {};
  const unsigned last = producer.getNumLoops() - 1;
  for (OpOperand *input : producer.getDpsInputOperands()) {
    AffineMap map = producer.getMatchingIndexingMap(input);
    const bool along = map.isFunctionOfDim(last);
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true) ||
        (along && (map.getResults().back() != getAffineDimExpr(last, map.getContext()) ||
                   !hasDenseRows(cast<MemRefType>(input->get().getType())))))
      return {};
  }
  return producer;
}

} // namespace tilewright::vector_stage
