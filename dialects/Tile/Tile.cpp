//===- Tile.cpp - the tw_tile dialect: registration, effects, bufferization -===//
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

namespace tilewright::tile {

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
}

namespace {
/// Adds the memory effects of an op on memrefs: the op reads its inputs, and reads and writes its outputs. An op on
/// tensors has no memory effects.
void bufferEffects(DestinationStyleOpInterface op,
                   SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand, SideEffects::DefaultResource::get());
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, SideEffects::DefaultResource::get());
  }
}

/// Bufferizes destination-style ops: the buffer of each result is the buffer of its output operand.
template <typename OpTy>
struct DestinationModel : bufferization::DstBufferizableOpInterfaceExternalModel<DestinationModel<OpTy>, OpTy> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto dps = cast<DestinationStyleOpInterface>(op);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands, outputs;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (isa<TensorType>(value.getType())) {
        FailureOr<Value> buffer = bufferization::getBuffer(rewriter, value, options, state);
        if (failed(buffer))
          return op->emitOpError("operand #") << operand.getOperandNumber() << " has no buffer";
        value = *buffer;
      }
      operands.push_back(value);
      if (dps.isDpsInit(&operand))
        outputs.push_back(value);
    }
    OperationState newState(op->getLoc(), op->getName(), operands, TypeRange(), op->getAttrs());
    newState.propertiesAttr = op->getPropertiesAsAttribute();
    rewriter.create(newState);
    bufferization::replaceOpWithBufferizedValues(rewriter, op, outputs);
    return success();
  }
  /// Scatter reads the elements of its destination; the other ops overwrite them.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const bufferization::AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) || isa<ScatterOp>(op);
  }
};
} // namespace

#define TILE_EFFECTS(OP)                                                                                               \
  void OP::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {                  \
    bufferEffects(cast<DestinationStyleOpInterface>(getOperation()), effects);                                         \
  }
TILE_EFFECTS(MatmulOp)
TILE_EFFECTS(ConvolutionOp)
TILE_EFFECTS(GroupedConvolutionOp)
TILE_EFFECTS(DepthwiseGradientOp)
TILE_EFFECTS(PackOp)
TILE_EFFECTS(AttentionOp)
TILE_EFFECTS(AttentionGradientOp)
TILE_EFFECTS(ScanOp)
TILE_EFFECTS(SortOp)
TILE_EFFECTS(ScatterOp)
#undef TILE_EFFECTS

void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TileDialect *) {
    MatmulOp::attachInterface<DestinationModel<MatmulOp>>(*context);
    ConvolutionOp::attachInterface<DestinationModel<ConvolutionOp>>(*context);
    GroupedConvolutionOp::attachInterface<DestinationModel<GroupedConvolutionOp>>(*context);
    DepthwiseGradientOp::attachInterface<DestinationModel<DepthwiseGradientOp>>(*context);
    PackOp::attachInterface<DestinationModel<PackOp>>(*context);
    AttentionOp::attachInterface<DestinationModel<AttentionOp>>(*context);
    AttentionGradientOp::attachInterface<DestinationModel<AttentionGradientOp>>(*context);
    ScanOp::attachInterface<DestinationModel<ScanOp>>(*context);
    SortOp::attachInterface<DestinationModel<SortOp>>(*context);
    ScatterOp::attachInterface<DestinationModel<ScatterOp>>(*context);
  });
}

Value divideByOne(OpBuilder &builder, Location loc, Value divisor, Value *isZero) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(divisor.getType()));
  Value one = arith::ConstantOp::create(builder, loc, builder.getOneAttr(divisor.getType()));
  Value found = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, divisor, zero);
  if (isZero)
    *isZero = found;
  return arith::SelectOp::create(builder, loc, found, one, divisor);
}

bool writesRows(ScatterOp op) {
  auto source = cast<ShapedType>(op.getInputs()[0].getType()), out = cast<ShapedType>(op.getOutputs()[0].getType());
  const int64_t last = source.getRank() - 1;
  if (last < 1 || out.getRank() < 2 || source.getElementType().isInteger(1))
    return false;
  const int64_t width = source.getDimSize(last);
  const bool fits = !ShapedType::isDynamic(width) && width > 1 && width <= out.getDimSize(out.getRank() - 1);
  if (!fits || op.getDestMap().getResults().back() != getAffineDimExpr(last, op.getContext()))
    return false;
  auto isFree = [&](ArrayRef<AffineExpr> exprs) {
    return llvm::none_of(exprs, [&](AffineExpr expr) { return expr.isFunctionOfDim(last); });
  };
  return isFree(op.getDestMap().getResults().drop_back()) && llvm::all_of(op.getIndexMaps(), [&](Attribute map) {
           return isFree(cast<AffineMapAttr>(map).getValue().getResults());
         });
}

} // namespace tilewright::tile
