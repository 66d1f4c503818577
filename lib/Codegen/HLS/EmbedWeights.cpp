//===- EmbedWeights.cpp - --tw-hls-embed-weights: weights become constants of the design ----===//
//
// Before:
//   func @main(%w: tensor<6x4xf32> {tw.name = "w", tw_hls.value = dense<...>}, %x: ...) {
//     %0 = call @permute(%w, %empty) ...
// After:
//   module attributes {tw_hls.embedded = array<i64: 0>} {
//     func @main(%x: ...) { %0 = arith.constant dense<...> loc("w") ...
//
// If the operands of a kernel are constants, this pass evaluates the kernel, provided that the kernel only copies or
// reshapes elements (such as a permutation), or adds, subtracts, multiplies and converts integers. By default, weights
// are embedded if they take at most half of the block memories in the budget. A design whose weights are in ROMs needs
// no ports for the weights and no cycles to load them. If the weights take more memory, large weights become ports
// again after the evaluation. These ports have the layout that the kernels read, and come after the model's inputs:
//   func @main(%x: ..., %w: tensor<4x6xf32> {tw.name = "w"})      and the module has tw_hls.arranged = [dense<...>]
//
// Tests: test/Codegen/HLS/embed-weights.mlir, test/Codegen/HLS/arrange-weights.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Cost.h"
#include "lib/Codegen/HLS/DropZeros.h"
#include "lib/Codegen/HLS/EvaluateConstants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSEMBEDWEIGHTS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

/// Returns the result of an op that permutes or copies elements, for the input `value`. Returns null if `op` computes
/// anything else.
DenseElementsAttr moved(linalg::GenericOp op, DenseElementsAttr value) {
  auto result = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 || !result ||
      !op.getIndexingMapsArray()[1].isIdentity() ||
      op.getBlock()->getTerminator()->getOperand(0) != op.getBlock()->getArgument(0))
    return {};
  if (value.isSplat())
    return value.resizeSplat(result);
  const int64_t width = llvm::divideCeil(value.getElementType().getIntOrFloatBitWidth(), 8);
  AffineMap map = op.getIndexingMapsArray()[0];
  ArrayRef<int64_t> from = value.getType().getShape();
  ArrayRef<char> bytes = value.getRawData();
  std::vector<char> made(result.getNumElements() * width);
  SmallVector<int64_t> indices(result.getRank(), 0);
  for (int64_t number = 0; number < result.getNumElements(); ++number) {
    int64_t source = 0;
    for (auto [size, at] : llvm::zip(from, map.compose(indices)))
      source = source * size + at;
    memcpy(&made[number * width], &bytes[source * width], width);
    for (int64_t dim = result.getRank() - 1; dim >= 0 && ++indices[dim] == result.getDimSize(dim); --dim)
      indices[dim] = 0;
  }
  return DenseElementsAttr::getFromRawBuffer(result, made);
}

DenseElementsAttr constantOf(Value value, const KnownTensors &known = KnownTensors()) {
  if (DenseElementsAttr found = known.lookup(value))
    return found;
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
}

/// Returns the result of an op on constants, or null if this pass does not evaluate the op.
DenseElementsAttr evaluate(Operation &op, const KnownTensors &known = KnownTensors()) {
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return evaluateFill(fill);
  auto type = op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType()) : RankedTensorType();
  if (!type || !type.hasStaticShape() || op.getNumOperands() == 0)
    return {};
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (generic)
    if (DenseElementsAttr value = evaluateGeneric(generic, known))
      return value;
  DenseElementsAttr value = constantOf(op.getOperand(0), known);
  if (!value || value.getElementType().isInteger(1))
    return {};
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return value.reshape(type);
  return generic ? moved(generic, value) : DenseElementsAttr();
}

/// Returns the result of a call whose kernel only computes on constants; null otherwise.
DenseElementsAttr evaluate(func::CallOp call, func::FuncOp kernel) {
  KnownTensors known;
  for (auto [operand, argument] : llvm::zip(call.getOperands(), kernel.getArguments()))
    if (DenseElementsAttr value = constantOf(operand))
      known[argument] = value;
  if (known.empty() || kernel.getNumResults() != 1)
    return {};
  for (Operation &op : kernel.front().without_terminator())
    if (DenseElementsAttr value = evaluate(op, known))
      known[op.getResult(0)] = value;
  return known.lookup(kernel.front().getTerminator()->getOperand(0));
}

/// Returns the number of block memories for all `weights`, if each weight has one bank.
int64_t blocksOf(ArrayRef<ElementsAttr> weights) {
  int64_t blocks = 0;
  for (ElementsAttr weight : weights)
    blocks += blockMemories(MemRefType::get(weight.getShapedType().getShape(), weight.getElementType()));
  return blocks;
}

struct HlsEmbedWeights : impl::HlsEmbedWeightsBase<HlsEmbedWeights> {
  using HlsEmbedWeightsBase::HlsEmbedWeightsBase;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      return;
    llvm::Expected<const Part *> device = findPart(part);
    llvm::Expected<Resources> resources = device ? readBudget(budget, **device) : device.takeError();
    if (!resources) {
      emitError(UnknownLoc::get(&getContext())) << llvm::toString(resources.takeError());
      return signalPassFailure();
    }
    SmallVector<ElementsAttr> weights;
    for (unsigned index = 0; index < main.getNumArguments(); ++index)
      if (auto value = main.getArgAttrOfType<ElementsAttr>(index, valueAttrName))
        weights.push_back(value);
    const bool embed = place != "external";
    const bool fit = place == "embedded" || blocksOf(weights) <= resources->bram / 2;
    if (embed)
      replaceWeights(main);
    for (unsigned index = 0; index < main.getNumArguments(); ++index)
      main.removeArgAttr(index, valueAttrName);
    if (embed)
      evaluateCalls(main);
    if (embed && !fit)
      arrangePorts(main, resources->bram / 2000);
  }

private:
  void replaceWeights(func::FuncOp main) {
    llvm::BitVector embedded(main.getNumArguments());
    SmallVector<int64_t> tensors;
    int64_t tensor = -1;
    OpBuilder builder(&main.front(), main.front().begin());
    for (BlockArgument argument : main.getArguments()) {
      tensor += isa<RankedTensorType>(argument.getType());
      const unsigned index = argument.getArgNumber();
      auto value = main.getArgAttrOfType<ElementsAttr>(index, valueAttrName);
      if (!value)
        continue;
      Location loc = argument.getLoc();
      if (auto name = main.getArgAttrOfType<StringAttr>(index, nameAttrName))
        loc = NameLoc::get(name);
      auto constant = arith::ConstantOp::create(builder, loc, cast<TypedAttr>(value));
      argument.replaceAllUsesWith(constant.getResult());
      embedded.set(index);
      tensors.push_back(tensor);
    }
    if (tensors.empty())
      return;
    (void)main.eraseArguments(embedded);
    getOperation()->setAttr(embeddedAttrName, builder.getDenseI64ArrayAttr(tensors));
  }

  void evaluateCalls(func::FuncOp main) {
    for (Operation &op : llvm::make_early_inc_range(main.front())) {
      auto call = dyn_cast<func::CallOp>(op);
      DenseElementsAttr value =
          call ? evaluate(call, getOperation().lookupSymbol<func::FuncOp>(call.getCallee())) : evaluate(op);
      if (!value)
        continue;
      OpBuilder builder(&op);
      auto source = op.getOperand(0).getDefiningOp<arith::ConstantOp>(); // a reordered weight keeps its name
      if (source && cast<ShapedType>(source.getType()).getNumElements() != value.getNumElements())
        source = nullptr;
      auto constant = arith::ConstantOp::create(builder, source ? source.getLoc() : op.getLoc(), value);
      op.getResult(0).replaceAllUsesWith(constant.getResult());
      op.erase();
    }
    dropZeros(main);
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel.isPrivate() && SymbolTable::symbolKnownUseEmpty(kernel, getOperation()))
        kernel.erase();
  }

  /// Replaces constants that take more than `mostBlocks` block memories by inputs, in the layout that the kernels read.
  void arrangePorts(func::FuncOp main, int64_t mostBlocks) {
    Builder builder(&getContext());
    SmallVector<Attribute> values;
    for (auto constant : llvm::make_early_inc_range(main.front().getOps<arith::ConstantOp>())) {
      auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!value || blocksOf({value}) <= mostBlocks)
        continue;
      auto name = dyn_cast<NameLoc>(constant.getLoc());
      SmallVector<NamedAttribute> attributes;
      if (name)
        attributes.push_back(builder.getNamedAttr(nameAttrName, name.getName()));
      const unsigned number = main.getNumArguments();
      (void)main.insertArgument(number, constant.getType(), builder.getDictionaryAttr(attributes), constant.getLoc());
      constant.replaceAllUsesWith(Value(main.getArgument(number)));
      constant.erase();
      values.push_back(value);
    }
    if (!values.empty())
      getOperation()->setAttr(arrangedAttrName, builder.getArrayAttr(values));
  }
};

} // namespace
} // namespace tilewright::hls
