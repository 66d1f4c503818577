//===- GraphIR.cpp - is this module a graph that can be compiled? ------------===//
//
// Tests: test/Tools/no-main.mlir, test/Tools/sizes-of-graphs.test
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/GraphIR.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright {
namespace {

/// What is wrong with the sizes of `type`, in a graph of `symbols` symbols; empty: nothing.
std::string problemOf(Type type, unsigned symbols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || (tensor.hasStaticShape() && !tensor.getEncoding()))
    return "";
  auto sizes = dyn_cast_or_null<AffineMapAttr>(tensor.getEncoding());
  if (!sizes)
    return "does not say what its symbolic sizes are";
  AffineMap map = sizes.getValue();
  if (map.getNumDims() != 0 || int64_t(map.getNumResults()) != tensor.getRank())
    return "has an affine_map of " + std::to_string(map.getNumDims()) + " dimensions and " +
           std::to_string(map.getNumResults()) + " results, not of 0 and " + std::to_string(tensor.getRank());
  for (auto [size, result] : llvm::zip_equal(tensor.getShape(), map.getResults())) {
    auto number = dyn_cast<AffineConstantExpr>(result);
    if (ShapedType::isDynamic(size) ? number != nullptr : !number || number.getValue() != size)
      return "and its affine_map differ in what is symbolic";
  }
  for (unsigned symbol = symbols; symbol < map.getNumSymbols(); ++symbol)
    if (map.isFunctionOfSymbol(symbol))
      return "uses the symbol s" + std::to_string(symbol) + ", but @main has " + std::to_string(symbols) +
             " index arguments";
  return "";
}

llvm::Error problemAt(Location loc, Type type, const std::string &problem) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    stream << file.getFilename().getValue() << ":" << file.getLine() << ": ";
  stream << type << " " << problem
         << "; a symbolic size is an index argument of @main, and a tensor names it in its encoding: "
            "tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>";
  return llvm::createStringError(text);
}

} // namespace

llvm::Error checkGraph(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return llvm::createStringError("the module has no function @main: expected a model's graph of tw ops; "
                                   "tilewright-opt runs single passes on anything else");
  unsigned symbols = 0;
  for (BlockArgument argument : main.getArguments()) {
    if (isa<IndexType>(argument.getType()) && symbols++ != argument.getArgNumber())
      return llvm::createStringError("argument %u of @main is a symbolic size: these come before the tensors",
                                     argument.getArgNumber());
  }
  for (BlockArgument argument : main.getArguments())
    if (std::string problem = problemOf(argument.getType(), symbols); !problem.empty())
      return problemAt(argument.getLoc(), argument.getType(), problem);
  func::CallOp calls;
  main.walk([&](func::CallOp call) { calls = calls ? calls : call; });
  if (calls) {
    std::string text;
    if (auto file = calls.getLoc()->findInstanceOf<FileLineColLoc>())
      text = file.getFilename().str() + ":" + std::to_string(file.getLine()) + ": ";
    return llvm::createStringError(text + "@main calls @" + calls.getCallee().str() +
                                   ", and a model is one function: put what it calls into it, for example with "
                                   "mlir-opt --inline");
  }
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
