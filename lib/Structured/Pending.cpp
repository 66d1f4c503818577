#include "lib/Structured/Lowering.h"
using namespace mlir;
namespace tilewright::structured {
LogicalResult lowerConvolution(Lowering &l, Operation *op) { return op->emitOpError("not yet"); }
LogicalResult lowerPooling(Lowering &l, Operation *op) { return op->emitOpError("not yet"); }
LogicalResult lowerIndexing(Lowering &l, Operation *op) { return op->emitOpError("not yet"); }
LogicalResult lowerRandom(Lowering &l, graph::RandomOp op) { return op->emitOpError("not yet"); }
LogicalResult lowerAttention(Lowering &l, graph::AttentionOp op) { return op->emitOpError("not yet"); }
} // namespace tilewright::structured
