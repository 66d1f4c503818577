//===- QueueAccess.cpp - replace an array of a task by a queue -----------------------------===//
//
// Tests: test/Codegen/HLS/stream-channels.mlir, test/Codegen/HLS/port-protocols.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/QueueAccess.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace tilewright::hls {

void accessQueue(BlockArgument array, Operation *access, StreamType queue) {
  array.setType(queue);
  OpBuilder builder(access);
  if (auto store = dyn_cast<affine::AffineStoreOp>(access)) {
    WriteOp::create(builder, access->getLoc(), store.getValueToStore(), array);
  } else {
    auto value = ReadOp::create(builder, access->getLoc(), queue.getElement(), array);
    access->getResult(0).replaceAllUsesWith(value.getValue());
  }
  access->erase();
}

} // namespace tilewright::hls
