//===- LowerGraph.cpp - --tw-lower-graph: the graph to linalg on tensors ------===//
//
// Before:
//   func.func @main(%s0: index {tw.symbol = "s0"}, %x: tensor<?x8xf32, #sizes>) -> tensor<?x8xf32, #sizes> {
//     %0 = tw.exp %x : (tensor<?x8xf32, #sizes>) -> tensor<?x8xf32, #sizes>
//     return %0
// After:
//   func.func @main(%s0: index {tw.symbol = "s0"}, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
//     %0 = tensor.empty(%s0) : tensor<?x8xf32>
//     %1 = linalg.generic {exp} ins(%x) outs(%0)
//     return %1
//
// The pass walks each function once, in order, and lowers each op when it visits the op. The op families are in the
// files Lower*.cpp.
//
// Test: test/Kernels/lower-graph.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilewright {
#define GEN_PASS_DEF_LOWERGRAPH
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::structured {
namespace {

/// Returns the type of an argument or result of the function after the lowering.
Type structuredType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  return RankedTensorType::get(tensor.getShape(), storageType(tensor.getElementType()));
}

LogicalResult lowerOp(Lowering &l, Operation *op) {
  using namespace graph;
  l.loc = op->getLoc();
  l.name = op->getName().stripDialect();
  if (op->hasTrait<Elementwise>())
    return lowerElementwise(l, op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ConstantOp, FromIndexOp, IotaOp>([&](auto) { return lowerSource(l, op); })
      .Case<ReshapeOp, PermuteOp, BroadcastOp, SliceOp, FlipOp, PadOp, ConcatOp>([&](auto) { return lowerView(l, op); })
      .Case<ReduceOp, ArgReduceOp, VarMeanOp, ScanOp, SortOp>([&](auto) { return lowerReduction(l, op); })
      .Case<SoftmaxOp, LayerNormOp, RMSNormOp>([&](auto) { return lowerNormalization(l, op); })
      .Case<MatmulOp>([&](auto matmul) { return lowerContraction(l, matmul); })
      .Case<ConvolutionOp, ConvolutionWeightGradOp>([&](auto) { return lowerConvolution(l, op); })
      .Case<MaxPoolOp, MaxPoolGradOp, AvgPoolOp>([&](auto) { return lowerPooling(l, op); })
      .Case<TakeOp, GatherOp, ScatterOp, PutOp>([&](auto) { return lowerIndexing(l, op); })
      .Case<RandomOp>([&](auto random) { return lowerRandom(l, random); })
      .Case<AttentionOp>([&](auto attention) { return lowerAttention(l, attention); })
      .Case<AttentionGradientOp>([&](auto gradient) { return lowerAttentionGradient(l, gradient); })
      .Default(
          [](Operation *other) { return other->emitOpError("cannot be lowered: tw-lower-graph has no rule for it"); });
}

/// Checks that types use only symbols for which the function has an argument, because sizes are computed from
/// arguments.
LogicalResult checkSymbols(func::FuncOp function) {
  const unsigned symbols = llvm::count_if(function.getArgumentTypes(), llvm::IsaPred<IndexType>);
  auto check = [&](Location loc, Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto sizes = tensor ? dyn_cast_or_null<AffineMapAttr>(tensor.getEncoding()) : AffineMapAttr();
    if (sizes && (sizes.getValue().getNumDims() != 0 || sizes.getValue().getNumResults() != tensor.getRank()))
      return emitError(loc) << type << " has no valid description of its sizes";
    for (unsigned symbol = symbols; sizes && symbol < sizes.getValue().getNumSymbols(); ++symbol)
      if (sizes.getValue().isFunctionOfSymbol(symbol))
        return emitError(loc) << type << " uses the symbol s" << symbol << ", but the function has " << symbols
                              << " index arguments";
    return success();
  };
  for (BlockArgument argument : function.getArguments())
    if (failed(check(argument.getLoc(), argument.getType())))
      return failure();
  for (Operation &op : function.front())
    for (Type type : op.getResultTypes())
      if (failed(check(op.getLoc(), type)))
        return failure();
  return success();
}

/// Marks the products of f32 among `first` and the ops after it.
void allowTf32(Operation *first) {
  for (Operation *op = first; op; op = op->getNextNode()) {
    auto product = dyn_cast<linalg::LinalgOp>(op);
    if (product && product.getNumReductionLoops() > 0 &&
        llvm::all_of(product.getDpsInputs(), [](Value in) { return getElementTypeOrSelf(in.getType()).isF32(); }) &&
        llvm::any_of(*product.getBlock(), llvm::IsaPred<arith::MulFOp>))
      op->setAttr(tf32AttrName, UnitAttr::get(op->getContext()));
  }
}

LogicalResult lowerFunction(func::FuncOp function, const LowerGraphOptions &options) {
  if (function.isDeclaration())
    return success();
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("has control flow between blocks; a graph is one block");
  Block &source = function.front();
  if (failed(checkSymbols(function)))
    return failure();
  Block *body = new Block;
  function.getBody().push_back(body);
  for (BlockArgument argument : source.getArguments())
    body->addArgument(structuredType(argument.getType()), argument.getLoc());

  Lowering l(function, *body);
  l.decide = deciders(source);
  l.splitProducts = options.splitProducts;
  l.attentionDelta = options.attentionDelta;
  IRMapping others;
  for (auto [from, to] : llvm::zip_equal(source.getArguments(), body->getArguments())) {
    if (isa<RankedTensorType>(from.getType()))
      l.set(from, to);
    else
      others.map(from, to);
  }
  LogicalResult result = success();
  for (Operation &op : source) {
    if (isa<graph::TWDialect>(op.getDialect())) {
      Operation *before = body->empty() ? nullptr : &body->back();
      if (failed(lowerOp(l, &op))) {
        result = failure();
        break;
      }
      if (options.tf32Convolutions && isa<graph::ConvolutionOp, graph::ConvolutionWeightGradOp>(op) && !body->empty())
        allowTf32(before ? before->getNextNode() : &body->front());
      continue;
    }
    l.loc = op.getLoc();
    l.name = op.getName().getStringRef();
    for (Value operand : op.getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        others.map(operand, l.tensor(operand));
    Operation *copy = l.builder.clone(op, others);
    for (auto [from, to] : llvm::zip_equal(op.getResults(), copy->getResults())) {
      to.setType(structuredType(to.getType()));
      if (isa<RankedTensorType>(from.getType()))
        l.set(from, to);
    }
  }
  if (failed(result)) {
    body->erase();
    return failure();
  }
  source.erase();
  SmallVector<Type> inputs(body->getArgumentTypes()), results;
  for (Type type : function.getResultTypes())
    results.push_back(structuredType(type));
  function.setFunctionType(FunctionType::get(function.getContext(), inputs, results));
  return success();
}

struct LowerGraph : impl::LowerGraphBase<LowerGraph> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    if (failed(lowerFunction(getOperation(), {splitProducts, tf32Convolutions, attentionDelta})))
      signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::structured
