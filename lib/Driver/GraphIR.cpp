//===- GraphIR.cpp - check that a module is a graph that can be compiled -----===//
//
// Tests: test/Tools/no-main.mlir, test/Tools/sizes-of-graphs.test
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/GraphIR.h"
#include "dialects/Graph/Dtype.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/SourceLine.h"

using namespace mlir;

namespace tilewright {
namespace {

/// Returns a description of the error in the sizes of `type` for a graph with `symbols` symbols, or an empty string.
std::string problemOf(Type type, unsigned symbols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || (tensor.hasStaticShape() && !tensor.getEncoding()))
    return "";
  auto sizes = dyn_cast_or_null<AffineMapAttr>(tensor.getEncoding());
  if (!sizes)
    return "has no encoding with its symbolic sizes";
  AffineMap map = sizes.getValue();
  if (map.getNumDims() != 0 || int64_t(map.getNumResults()) != tensor.getRank())
    return "has an affine_map of " + std::to_string(map.getNumDims()) + " dimensions and " +
           std::to_string(map.getNumResults()) + " results; expected 0 dimensions and " +
           std::to_string(tensor.getRank());
  for (auto [size, result] : llvm::zip_equal(tensor.getShape(), map.getResults())) {
    auto number = dyn_cast<AffineConstantExpr>(result);
    if (ShapedType::isDynamic(size) ? number != nullptr : !number || number.getValue() != size)
      return "and its affine_map have different sizes";
  }
  for (unsigned symbol = symbols; symbol < map.getNumSymbols(); ++symbol)
    if (map.isFunctionOfSymbol(symbol))
      return "uses the symbol s" + std::to_string(symbol) + ", but @main has " + std::to_string(symbols) +
             " index arguments";
  return "";
}

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Returns the element types of graphs (Dtypes.def), separated by commas.
std::string elementTypes(MLIRContext *context) {
  std::string text;
  for (const ScalarTypeInfo &info : scalarTypes())
    text += (text.empty() ? "" : ", ") + textOf(elementTypeOf(info.type, context));
  return text;
}

/// Returns true if the passes support tensors with the element type `element`.
bool isElement(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return !integer.isSigned() && integer.getWidth() >= 1 && integer.getWidth() <= 64;
  return isa<FloatType>(element) && scalarTypeOf(element);
}

/// Returns the reason why a graph cannot have values of `type`, or an empty string.
std::string strangeness(Type type) {
  if (isa<IndexType>(type))
    return "";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "the values of a graph must be ranked tensors or symbolic sizes (index)";
  if (!isElement(tensor.getElementType()))
    return "the supported element types are " + elementTypes(type.getContext());
  return "";
}

/// Rejects IR that no pass supports: values that are neither tensors nor sizes, unsupported element types, attributes
/// of symbolic sizes on tensors, calls, control flow between blocks, and tw ops in the regions of other ops.
llvm::Error checkForm(func::FuncOp main) {
  auto refuse = [&](Location loc, const Twine &what) {
    return llvm::createStringError(sourceLineBefore(loc) + what.str());
  };
  if (!llvm::hasSingleElement(main.getBody()))
    return refuse(main.getLoc(), "@main has control flow between blocks; a graph is one block");
  for (BlockArgument argument : main.getArguments()) {
    const unsigned number = argument.getArgNumber();
    if (std::string why = strangeness(argument.getType()); !why.empty())
      return refuse(argument.getLoc(),
                    "argument " + Twine(number) + " of @main is " + textOf(argument.getType()) + ": " + why);
    for (StringRef name : {graph::symbolAttrName, graph::symbolMinAttrName, graph::symbolMaxAttrName})
      if (main.getArgAttr(number, name) && !isa<IndexType>(argument.getType()))
        return refuse(argument.getLoc(), "argument " + Twine(number) + " of @main has " + name + ", but is " +
                                             textOf(argument.getType()) +
                                             ": only a symbolic size (index) can have this attribute");
  }
  for (Operation &op : main.front()) {
    const std::string name = ("'" + op.getName().getStringRef() + "'").str();
    if (isa<func::CallOp, func::CallIndirectOp>(op))
      return refuse(op.getLoc(),
                    name + ": calls are not supported in a model's graph; inline the callee (tilewright-opt --inline)");
    if (op.getNumSuccessors())
      return refuse(op.getLoc(), name + " is control flow; a graph is one block");
    WalkResult inner = op.walk([&](Operation *each) {
      return each != &op && isa_and_nonnull<graph::TWDialect>(each->getDialect()) ? WalkResult::interrupt()
                                                                                  : WalkResult::advance();
    });
    if (inner.wasInterrupted())
      return refuse(op.getLoc(), name + " has tw ops in a region: only ops directly in @main are compiled");
    if (!isa_and_nonnull<graph::TWDialect>(op.getDialect()))
      continue;
    for (Type type : op.getResultTypes())
      if (std::string why = strangeness(type); !why.empty())
        return refuse(op.getLoc(), name + " has the result type " + textOf(type) + ": " + why);
  }
  return llvm::Error::success();
}

llvm::Error problemAt(Location loc, Type type, const std::string &problem) {
  std::string text = sourceLineBefore(loc);
  llvm::raw_string_ostream stream(text);
  stream << type << " " << problem
         << "; a symbolic size is an index argument of @main, to which the encoding of a tensor refers: "
            "tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>";
  return llvm::createStringError(text);
}

} // namespace

llvm::Error checkGraph(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return llvm::createStringError("the module has no function @main: expected a model's graph of tw ops; "
                                   "tilewright-opt runs single passes on other modules");
  if (llvm::Error failed = checkForm(main))
    return failed;
  unsigned symbols = 0;
  for (BlockArgument argument : main.getArguments()) {
    if (isa<IndexType>(argument.getType()) && symbols++ != argument.getArgNumber())
      return llvm::createStringError(
          "argument %u of @main is a symbolic size: symbolic sizes must come before the tensors",
          argument.getArgNumber());
  }
  for (BlockArgument argument : main.getArguments())
    if (std::string problem = problemOf(argument.getType(), symbols); !problem.empty())
      return problemAt(argument.getLoc(), argument.getType(), problem);
  func::CallOp calls;
  main.walk([&](func::CallOp call) { calls = calls ? calls : call; });
  if (calls)
    return llvm::createStringError(
        sourceLineBefore(calls.getLoc()) + "@main calls @" + calls.getCallee().str() +
        ", but a model must be one function: inline the callee, for example with mlir-opt --inline");
  llvm::Error error = llvm::Error::success();
  main.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (std::string problem = problemOf(type, symbols); !problem.empty()) {
        llvm::consumeError(std::move(error));
        error = problemAt(op->getLoc(), type, problem);
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return error;
}

} // namespace tilewright
