//===- PackElements.cpp - --tw-pack-elements: narrow elements to packed bytes and containers ------------===//
//
// Before:
//   func.func @main(%x: tensor<4x16xi4>) -> tensor<4x8xi4> {
//     %0 = tw.slice %x {offsets = affine_map<() -> (0, 8)>, ...} : tensor<4x16xi4> -> tensor<4x8xi4>
//     %1 = tw.neg %0 : (tensor<4x8xi4>) -> tensor<4x8xi4>
// After:
//   func.func @main(%x: tensor<4x8xui8>) -> tensor<4x4xui8> {
//     %0 = tw.slice %x {offsets = affine_map<() -> (0, 4)>, ...} : tensor<4x8xui8> -> tensor<4x4xui8>
//     ...                                                    // %a: the elements of %0, one per byte
//     %1 = tw.neg %a : (tensor<4x8xi8>) -> tensor<4x8xi8>    // followed by ops that pack %1 into tensor<4x4xui8>
//
// After this pass, every element takes 1, 2, 4 or 8 bytes, so that the code generators allocate, load and store whole
// bytes. Arguments, results and constants are stored tensors (NarrowElements.h). A view remains a view of the stored
// tensor if it moves only whole bytes. Other ops compute with containers, and their results wrap around to the range of
// the narrow type. Floats of 4 bits can be viewed, copied, passed and returned, but ops cannot compute with them.
//
// Test: test/Graph/pack-elements.mlir, test/Graph/pack-elements-invalid.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Dtype.h"
#include "dialects/Graph/Graph.h"
#include "lib/Graph/NarrowElements.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_PACKELEMENTS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::graph {
namespace {

bool isNarrowTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isNarrow(tensor.getElementType());
}

/// Returns the value of a narrow integer in its container.
APInt inContainer(const APInt &value, IntegerType container) {
  return container.isUnsigned() ? value.zext(container.getWidth()) : value.sext(container.getWidth());
}

bool isView(Operation *op) { return isa<ReshapeOp, SliceOp, PermuteOp, FlipOp, BroadcastOp, ConcatOp>(op); }

struct PackElements : impl::PackElementsBase<PackElements> {
  void runOnOperation() final {
    func::FuncOp function = getOperation();
    if (failed(requireForm(function, IRForm::Graph, getArgument())))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    bool any = llvm::any_of(function.getArgumentTypes(), isNarrowTensor);
    for (Operation &op : function.front()) {
      any |= llvm::any_of(op.getResultTypes(), isNarrowTensor);
      ops.push_back(&op);
    }
    if (!any)
      return markAllAnalysesPreserved();
    for (BlockArgument argument : function.getArguments())
      if (failed(store(argument, function)))
        return signalPassFailure();
    for (Operation *op : ops)
      if (failed(convert(op)))
        return signalPassFailure();
    function.setType(FunctionType::get(&getContext(), function.front().getArgumentTypes(),
                                       function.front().getTerminator()->getOperandTypes()));
  }

private:
  llvm::DenseMap<Value, RankedTensorType> narrowTypes; ///< for stored tensors: the types before this pass

  /// Returns the type of `value` before this pass.
  RankedTensorType narrowType(Value value) {
    auto found = narrowTypes.find(value);
    return found == narrowTypes.end() ? cast<RankedTensorType>(value.getType()) : found->second;
  }

  static std::string nameOf(RankedTensorType type) { return dtypeName(type.getElementType()); }

  /// If `value`, an argument or a result of `owner`, has narrow elements, changes its type to that of the stored
  /// tensor.
  LogicalResult store(Value value, Operation *owner) {
    if (!isNarrowTensor(value.getType()))
      return success();
    auto type = cast<RankedTensorType>(value.getType());
    std::optional<StoredTensor> stored = storedTensor(type);
    if (!stored)
      return owner->emitError() << "a tensor of " << nameOf(type) << " has the type " << type
                                << ", whose number of bytes is not known to be whole; make the last size even";
    narrowTypes[value] = type;
    value.setType(stored->type);
    return success();
  }

  LogicalResult convert(Operation *op) {
    const bool reads = llvm::any_of(op->getOperands(), [&](Value v) { return narrowTypes.contains(v); });
    if (isa<func::ReturnOp>(op) || (!reads && llvm::none_of(op->getResultTypes(), isNarrowTensor)))
      return success();
    if (isView(op) && staysView(op))
      return convertView(op);
    if (auto constant = dyn_cast<ConstantOp>(op))
      return storeConstant(constant);
    return compute(op);
  }

  /// Returns true if `view` can be expressed as a view of the stored tensor.
  bool staysView(Operation *view) {
    if (isa<ReshapeOp>(view))
      return true; // the elements are the same bytes in both shapes
    auto byRows = [&](Value value) {
      std::optional<StoredTensor> stored = storedTensor(narrowType(value));
      return stored && stored->byRows;
    };
    if (!llvm::all_of(view->getOperands(), byRows) || !llvm::all_of(view->getResults(), byRows))
      return false;
    const unsigned bits = packedBits(narrowType(view->getResult(0)).getElementType());
    if (!bits)
      return true;
    return TypeSwitch<Operation *, bool>(view)
        .Case([&](SliceOp op) {
          return wholeBytes(op.getOffsets().getResults().back(), bits) && op.getStrides().back() == 1;
        })
        .Case([](PermuteOp op) { return op.getPermutation().back() == int64_t(op.getPermutation().size()) - 1; })
        .Case([&](FlipOp op) {
          return !llvm::is_contained(op.getDims(), cast<RankedTensorType>(op.getType()).getRank() - 1);
        })
        .Default([](Operation *) { return true; });
  }

  LogicalResult convertView(Operation *view) {
    if (auto slice = dyn_cast<SliceOp>(view))
      if (const unsigned bits = packedBits(narrowType(slice.getResult()).getElementType())) {
        AffineMap offsets = slice.getOffsets();
        SmallVector<AffineExpr> starts(offsets.getResults());
        starts.back() = wholeBytes(starts.back(), bits);
        slice.setOffsetsAttr(AffineMapAttr::get(
            AffineMap::get(offsets.getNumDims(), offsets.getNumSymbols(), starts, offsets.getContext())));
      }
    return store(view->getResult(0), view);
  }

  LogicalResult storeConstant(ConstantOp op) {
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!elements)
      return op.emitError() << "a constant of " << nameOf(narrowType(op.getResult()))
                            << " must be a dense<...> attribute with its elements";
    if (failed(store(op.getResult(), op)))
      return failure();
    auto type = cast<RankedTensorType>(op.getType());
    const unsigned bits = packedBits(elements.getElementType());
    if (!bits) {
      auto container = cast<IntegerType>(type.getElementType());
      op.setValueAttr(cast<TypedAttr>(
          elements.mapValues(container, [&](const APInt &element) { return inContainer(element, container); })));
      return success();
    }
    const bool isFloat = isa<FloatType>(elements.getElementType());
    SmallVector<uint8_t> bytes(type.getNumElements(), 0);
    for (int64_t index = 0; index < elements.getNumElements(); ++index) {
      APInt value =
          isFloat ? elements.getValues<APFloat>()[index].bitcastToAPInt() : elements.getValues<APInt>()[index];
      bytes[index * bits / 8] |= value.getZExtValue() << index * bits % 8;
    }
    op.setValueAttr(cast<TypedAttr>(DenseElementsAttr::get(type, ArrayRef(bytes))));
    return success();
  }

  /// Changes `op` so that it computes with containers.
  LogicalResult compute(Operation *op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto found = narrowTypes.find(operand.get());
      if (found == narrowTypes.end())
        continue;
      if (failed(requireIntegers(op, found->second)))
        return failure();
      operand.set(loadContainers(builder, op->getLoc(), operand.get(), found->second));
    }
    if (auto pad = dyn_cast<PadOp>(op))
      if (auto value = dyn_cast<IntegerAttr>(pad.getValue()); value && isNarrow(value.getType())) {
        IntegerType container = containerOf(value.getType());
        pad.setValueAttr(IntegerAttr::get(container, inContainer(value.getValue(), container)));
      }
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults()) {
      if (!isNarrowTensor(result.getType()))
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      if (failed(requireIntegers(op, type)))
        return failure();
      if (!storedTensor(type))
        return store(result, op);
      result.setType(withElementType(type, containerOf(type.getElementType())));
      SmallVector<OpOperand *> uses(llvm::make_pointer_range(result.getUses()));
      Value stored = storeContainers(builder, op->getLoc(), result, type);
      for (OpOperand *use : uses)
        use->set(stored);
      narrowTypes[stored] = type;
    }
    return success();
  }

  /// Reports an error if `type` has elements that are floats, unless `op` moves elements without reading them.
  static LogicalResult requireIntegers(Operation *op, RankedTensorType type) {
    if (isa<IntegerType>(type.getElementType()) || isView(op))
      return success();
    return op->emitError() << "elements of " << nameOf(type)
                           << " can be passed, viewed, copied and returned, but not computed with";
  }
};

} // namespace
} // namespace tilewright::graph
