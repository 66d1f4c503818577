//===- GraphBuilder.cpp - the importer's public interface -----------------------===//
#include "tilewright/GraphBuilder.h"
#include "dialects/Graph/Elements.h"
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/DebugStringHelper.h"
#include "mlir/Transforms/RegionUtils.h"

namespace tilewright {

struct GraphBuilder::State {
  explicit State(MLIRContext &context) : importer(context) {}
  Importer importer;
  std::string firstRefusal;
  std::vector<std::pair<std::string, bool>> inputs; ///< name, static
  std::vector<int64_t> into;                        ///< OutputSpec::into of each output
};

GraphBuilder::GraphBuilder(MLIRContext &context) : state(std::make_unique<State>(context)) {}
GraphBuilder::~GraphBuilder() = default;

llvm::Error GraphBuilder::addSymbol(llvm::StringRef name, int64_t min, int64_t max) {
  Importer &im = state->importer;
  unsigned position = im.symbols.size();
  if (!state->inputs.empty())
    return llvm::createStringError("symbols come before the inputs");
  if (!im.symbols.try_emplace(name, SizeSymbol{getAffineSymbolExpr(position, &im.context), min, max}).second)
    return llvm::createStringError("the symbol " + name.str() + " is declared twice");
  im.function.front().insertArgument(position, IndexType::get(&im.context), UnknownLoc::get(&im.context));
  return llvm::Error::success();
}

namespace {

/// Returns the type of a tensor with its dimensions in the order in which `layout` stores them in memory.
RankedTensorType physicalType(RankedTensorType logical, const DenseLayout &layout) {
  SmallVector<AffineExpr> sizes = sizesOf(logical), physical;
  for (unsigned dim : layout.order)
    physical.push_back(sizes[dim]);
  return tensorWithSizes(physical, logical.getElementType());
}

SmallVector<int64_t> inverseOf(ArrayRef<unsigned> order) {
  SmallVector<int64_t> inverse(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    inverse[dim] = position;
  return inverse;
}

llvm::Expected<SmallVector<AffineExpr>> parseAll(Importer &im, const std::vector<Size> &sizes) {
  SmallVector<AffineExpr> result;
  for (const Size &size : sizes) {
    auto expr = im.size(size);
    if (!expr)
      return expr.takeError();
    result.push_back(canonicalSize(*expr));
  }
  return result;
}

/// Returns the reason why an op on 8-bit floats is refused. Returns "" for ops that only copy, convert or test the
/// equality of elements, for matrix products whose result has a wider type, and for ops of other dialects. torch
/// implements only a few other ops on 8-bit floats, such as abs.
std::string whyNotInFloat8(Operation &op) {
  if (isa<CastOp, ConstantOp, ReshapeOp, PermuteOp, BroadcastOp, SliceOp, FlipOp, PadOp, ConcatOp, WhereOp, RequireOp,
          TakeOp, GatherOp, EqOp, NeOp>(op) ||
      !isa<TWDialect>(op.getDialect()))
    return "";
  SmallVector<Type> types(op.getResultTypes());
  if (!isa<MatmulOp>(op))
    llvm::append_range(types, op.getOperandTypes());
  const auto *found = llvm::find_if(types, graph::isFloat8);
  if (found == types.end())
    return "";
  return op.getName().stripDialect().str() + " has no implementation in " + dtypeName(getElementTypeOrSelf(*found)) +
         (isa<MatmulOp>(op) ? ", as in eager; torch._scaled_mm has one" : "; cast to a wider float first");
}

/// Returns the reason why an op is refused because of the element types of its operands, or "".
std::string whyNotInElements(Operation &op) {
  if (op.hasTrait<Elementwise>())
    for (Value computed : computedOperands(&op))
      if (Type element = getElementTypeOrSelf(computed); !hasMeaning(&op, element))
        return op.getName().stripDialect().str() + " has no meaning on elements of " + dtypeName(element);
  return whyNotInFloat8(op);
}

Location locationOf(llvm::StringRef target, const std::vector<Frame> &frames, MLIRContext *context) {
  Location loc = UnknownLoc::get(context);
  if (!frames.empty())
    loc = FileLineColLoc::get(context, frames.back().file, frames.back().line, 0);
  return NameLoc::get(StringAttr::get(context, target), loc);
}

std::string frameText(const std::vector<Frame> &frames) {
  if (frames.empty())
    return "";
  const Frame &frame = frames.back();
  return " at " + frame.file + ":" + std::to_string(frame.line) +
         (frame.function.empty() ? "" : " in " + frame.function);
}

} // namespace

llvm::Expected<BuiltInput> GraphBuilder::addInput(llvm::StringRef name, const TensorMeta &meta,
                                                  const std::vector<Size> &strides, bool isStatic) {
  Importer &im = state->importer;
  auto type = im.tensorType(meta);
  if (!type)
    return type.takeError();
  auto strideExprs = parseAll(im, strides);
  if (!strideExprs)
    return strideExprs.takeError();
  if (im.seed)
    return llvm::createStringError("inputs come before the first random op");
  BuiltInput result;
  result.layout = layoutOf(sizesOf(*type), *strideExprs);
  RankedTensorType physical = physicalType(*type, result.layout);
  Location loc = NameLoc::get(StringAttr::get(&im.context, name), UnknownLoc::get(&im.context));
  Value value = im.function.front().addArgument(physical, loc);
  SmallVector<int64_t> back = inverseOf(result.layout.order);
  if (!llvm::is_sorted(back))
    value = PermuteOp::create(im.builder, loc, *type, value, im.builder.getDenseI64ArrayAttr(back));
  result.value = {im.nextId++, 0};
  im.values[result.value.id] = {value};
  state->inputs.push_back({name.str(), isStatic});
  return result;
}

llvm::Expected<std::string> GraphBuilder::typeText(ValueRef value) const {
  Value known = state->importer.valueOf(value);
  if (!known)
    return llvm::createStringError("this is the result of no node");
  return debugString(known.getType());
}

llvm::Expected<std::string> GraphBuilder::typeText(const TensorMeta &meta) {
  auto type = state->importer.tensorType(meta);
  if (!type)
    return type.takeError();
  return debugString(*type);
}

int64_t GraphBuilder::lastId() const { return state->importer.nextId - 1; }

llvm::Expected<int64_t> GraphBuilder::addNode(llvm::StringRef target, const ArgList &args,
                                              const std::vector<std::pair<std::string, Arg>> &kwargs,
                                              const std::vector<std::optional<TensorMeta>> &metas,
                                              const std::vector<Frame> &frames) {
  Importer &im = state->importer;
  int64_t id = im.nextId++;
  SmallVector<RankedTensorType> types;
  std::string reason;
  for (const auto &meta : metas) {
    if (!meta) {
      types.push_back({});
      continue;
    }
    auto type = im.tensorType(*meta);
    if (!type && reason.empty())
      reason = llvm::toString(type.takeError());
    else if (!type)
      llvm::consumeError(type.takeError());
    types.push_back(type ? *type : RankedTensorType::get({}, Float32Type::get(&im.context)));
  }

  if (reason.empty() && !target.starts_with("aten._assert") && (types.empty() || (types.size() == 1 && !types[0])))
    reason = "the graph has no tensor for its result";
  Location loc = locationOf(target, frames, &im.context);
  Node node(im, target, args, kwargs, types, loc);
  Operation *before = im.function.front().empty() ? nullptr : &im.function.front().back();
  Results results = Results::none();
  if (reason.empty()) {
    const Operator *row = operatorTable().find(target);
    if (target == loweringTarget)
      results = importLowering(node);
    else if (row && row->import)
      results = row->import(node);
    else
      reason = "this op is not in the table of imported ops";
    if (node.failed())
      reason = node.reason;
  }
  if (reason.empty() && results.values.size() < types.size())
    reason = "internal error: it gave " + std::to_string(results.values.size()) + " results where torch has " +
             std::to_string(types.size());
  for (unsigned i = 0; reason.empty() && i < types.size(); ++i)
    if (types[i] && results.values[i] && results.values[i].getType() != types[i])
      reason = "internal error: result " + std::to_string(i) + " became " +
               tensorName(Node::typeOf(results.values[i])) + " where torch says " + tensorName(types[i]);
  Block &written = im.function.front();
  for (auto op = before ? std::next(before->getIterator()) : written.begin(); reason.empty() && op != written.end();
       ++op)
    reason = whyNotInElements(*op);
  if (reason.empty()) {
    im.values[id] = SmallVector<Value, 2>(results.values.begin(), results.values.end());
    return id;
  }

  // The node is refused: erase the ops that it has emitted, and use placeholders as its results.
  while (!written.empty() && &written.back() != before)
    written.back().erase();
  SmallVector<Value, 2> placeholders;
  for (RankedTensorType type : types)
    placeholders.push_back(
        type ? UnrealizedConversionCastOp::create(im.builder, loc, TypeRange{type}, ValueRange{}).getResult(0)
             : Value());
  im.values[id] = placeholders;
  ++im.refusedNodes;
  std::string operands;
  auto list = [&](const Arg &arg) {
    if (auto *ref = std::get_if<ValueRef>(&arg))
      if (Value value = im.valueOf(*ref))
        operands += (operands.empty() ? "" : ", ") + tensorName(Node::typeOf(value));
  };
  for (const Arg &arg : args)
    list(arg);
  std::string message = target.str() + "(" + operands + ")" + frameText(frames) + ": " + reason;
  if (state->firstRefusal.empty())
    state->firstRefusal = message;
  return llvm::createStringError(message);
}

llvm::Expected<std::vector<DenseLayout>> GraphBuilder::setOutputs(const std::vector<OutputSpec> &outputs) {
  Importer &im = state->importer;
  std::vector<DenseLayout> layouts;
  SmallVector<Value> values;
  for (const OutputSpec &output : outputs) {
    Value value = im.valueOf(output.value);
    if (!value)
      return llvm::createStringError("output " + std::to_string(layouts.size()) +
                                     " refers to a result that its node does not give");
    auto strides = parseAll(im, output.strides);
    if (!strides)
      return strides.takeError();
    RankedTensorType logical = Node::typeOf(value);
    layouts.push_back(layoutOf(sizesOf(logical), *strides));
    if (output.into < 0 && !state->into.empty() && state->into.back() >= 0)
      return llvm::createStringError("outputs that are written into inputs come last");
    state->into.push_back(output.into);
    SmallVector<int64_t> order(layouts.back().order.begin(), layouts.back().order.end());
    if (!llvm::is_sorted(order))
      value = PermuteOp::create(im.builder, value.getLoc(), physicalType(logical, layouts.back()), value,
                                im.builder.getDenseI64ArrayAttr(order));
    values.push_back(value);
  }
  func::ReturnOp::create(im.builder, UnknownLoc::get(&im.context), values);
  return layouts;
}

Importer &GraphBuilder::importer() { return state->importer; }

bool GraphBuilder::needsSeed() const { return bool(state->importer.seed); }

llvm::Expected<std::string> GraphBuilder::normalize(llvm::StringRef expression) {
  auto expr = state->importer.size(Size(expression.str()));
  if (!expr)
    return expr.takeError();
  std::string text;
  llvm::raw_string_ostream(text) << *expr;
  return text;
}

llvm::Expected<OwningOpRef<ModuleOp>> GraphBuilder::finish() {
  Importer &im = state->importer;
  if (im.refusedNodes)
    return llvm::createStringError(std::to_string(im.refusedNodes) +
                                   " nodes cannot be imported, the first: " + state->firstRefusal);
  Block &block = im.function.front();
  if (block.empty() || !isa<func::ReturnOp>(block.back()))
    return llvm::createStringError("the graph's outputs were never set");
  unsigned inputs = block.getNumArguments(), symbols = im.symbols.size();
  im.function.setType(FunctionType::get(&im.context, block.getArgumentTypes(), block.back().getOperandTypes()));
  Builder &b = im.builder;
  for (const auto &entry : im.symbols) {
    unsigned index = cast<AffineSymbolExpr>(entry.second.expr).getPosition();
    im.function.setArgAttr(index, symbolAttrName, b.getStringAttr(entry.first()));
    im.function.setArgAttr(index, symbolMinAttrName, b.getI64IntegerAttr(entry.second.min));
    im.function.setArgAttr(index, symbolMaxAttrName, b.getI64IntegerAttr(entry.second.max));
  }
  for (auto [i, input] : llvm::enumerate(state->inputs)) {
    im.function.setArgAttr(symbols + i, nameAttrName, b.getStringAttr(input.first));
    if (input.second)
      im.function.setArgAttr(symbols + i, staticAttrName, b.getUnitAttr());
  }
  for (auto [i, input] : llvm::enumerate(state->into)) {
    if (input < 0)
      continue;
    if (input >= int64_t(state->inputs.size()) ||
        block.getArgument(symbols + input).getType() != block.back().getOperand(i).getType())
      return llvm::createStringError("output " + std::to_string(i) + " has another type than the input " +
                                     std::to_string(input) + ", into which it is written");
    im.function.setResultAttr(i, intoAttrName, b.getI64IntegerAttr(input));
  }
  if (!im.guards.empty())
    im.function->setAttr(guardsAttrName, b.getArrayAttr(im.guards));
  if (im.seed)
    im.function.setArgAttr(inputs - 1, nameAttrName, b.getStringAttr("seed"));
  // Erase ops without uses, which the import functions may have emitted.
  IRRewriter rewriter(&im.context);
  (void)runRegionDCE(rewriter, im.module->getBodyRegion());
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&im.context, [&](Diagnostic &diagnostic) {
    diagnostics += (diagnostics.empty() ? "" : "\n") + diagnostic.str();
    return success();
  });
  if (mlir::failed(verify(*im.module)))
    return llvm::createStringError("internal error: the imported graph does not verify: " + diagnostics);
  return std::move(im.module);
}

bool GraphBuilder::knows(llvm::StringRef target) { return findImported(target); }

std::vector<OperatorRow> GraphBuilder::operators() {
  std::vector<OperatorRow> rows(operatorTable().rows().size());
  for (const auto &[target, row] : operatorTable().rows())
    rows[row.number] = {target.str(), nameOf(row.kind), nameOf(row.aliasing), row.family};
  return rows;
}

} // namespace tilewright
