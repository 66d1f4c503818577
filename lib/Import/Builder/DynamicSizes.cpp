//===- DynamicSizes.cpp - ranges of symbolic sizes that the user states ---------------===//
//
// Before: @main(%n: index {tw.symbol = "n", tw.min = 1, tw.max = 1024}, %x: tensor<?x8xf32> {tw.name = "x"})
// After x:0=2..512:        {tw.symbol = "n", tw.min = 2, tw.max = 512}
// After x:0=4: @main(%x: tensor<4x8xf32> {tw.name = "x"})
//
// Test: test/Tools/dynamic.test
//
//===----------------------------------------------------------------------===//
#include "tilewright/DynamicSizes.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;

namespace tilewright {

static llvm::Error malformed(llvm::StringRef text, const llvm::Twine &why) {
  return llvm::createStringError(
      "'" + text + "' is not a dynamic size: " + why +
      "; write input:dimension=least..most, for example x:0=2..512 or ids:0,mask:0=1.., name=least..most for a "
      "size with a name, or =number for a single value");
}

llvm::Expected<DynamicSize> parseDynamicSize(llvm::StringRef text) {
  auto [dims, range] = text.rsplit('=');
  if (dims.size() == text.size())
    return malformed(text, "it has no =");
  DynamicSize size;
  llvm::SmallVector<llvm::StringRef> parts;
  dims.split(parts, ',');
  for (llvm::StringRef part : parts) {
    DynamicSize::InputDim &inputDim = size.dims.emplace_back();
    if (!part.contains(':') && !part.trim().empty()) {
      inputDim = {part.trim().str(), DynamicSize::InputDim::named};
      continue;
    }
    auto [input, dim] = part.trim().rsplit(':');
    inputDim.input = input.str();
    if (input.empty() || dim.getAsInteger(10, inputDim.dim) || inputDim.dim < 0)
      return malformed(text, "'" + part + "' is not input:dimension");
  }
  if (!range.contains("..") && !range.trim().getAsInteger(10, size.min)) {
    size.max = size.min;
    return size.min >= 0 ? llvm::Expected<DynamicSize>(std::move(size))
                         : malformed(text, range + " is not a valid size");
  }
  auto [least, most] = range.split("..");
  if (least.size() == range.size() || least.trim().getAsInteger(10, size.min) ||
      (!most.trim().empty() && most.trim().getAsInteger(10, size.max)))
    return malformed(text, "'" + range + "' is neither least..most nor a number");
  if (size.min < 0 || size.min > size.max)
    return malformed(text, range + " is not a valid range of sizes");
  return size;
}

namespace {

class SizeNarrower {
public:
  explicit SizeNarrower(func::FuncOp main) : main(main) {}

  llvm::Error narrow(const DynamicSize &size) {
    std::optional<unsigned> symbol;
    for (const DynamicSize::InputDim &inputDim : size.dims) {
      llvm::Expected<unsigned> found = symbolOf(inputDim);
      if (!found)
        return found.takeError();
      if (symbol && *symbol != *found)
        return llvm::createStringError(size.dims[0].text() + " and " + inputDim.text() +
                                       " are two different sizes of the model");
      symbol = *found;
    }
    const int64_t least = bound(*symbol, graph::symbolMinAttrName, 0),
                  most = bound(*symbol, graph::symbolMaxAttrName, INT64_MAX);
    const int64_t max = size.max == INT64_MAX ? most : size.max;
    if (size.min < least || max > most) {
      std::string range = std::to_string(least) + (most == INT64_MAX ? " or more" : " to " + std::to_string(most)),
                  given = std::to_string(size.min) +
                          (size.isFixed() ? "" : ".." + (max == INT64_MAX ? "" : std::to_string(max)));
      return llvm::createStringError(size.dims[0].text() + " is a size of " + range + " in the model, which " + given +
                                     " exceeds");
    }
    if (size.isFixed())
      fixed[*symbol] = size.min;
    auto type = IntegerType::get(main.getContext(), 64);
    main.setArgAttr(*symbol, graph::symbolMinAttrName, IntegerAttr::get(type, size.min));
    main.setArgAttr(*symbol, graph::symbolMaxAttrName, IntegerAttr::get(type, max));
    return llvm::Error::success();
  }

  /// Replaces the symbols of sizes that are fixed to a number by constants, and removes the corresponding
  /// arguments of @main.
  void fix() {
    if (fixed.empty())
      return;
    MLIRContext *context = main.getContext();
    const unsigned count = graph::symbolicSizesOf(main).size();
    SmallVector<AffineExpr> values;
    BitVector removed(main.getNumArguments());
    unsigned next = 0;
    for (unsigned number = 0; number < count; ++number)
      if (auto found = fixed.find(number); found != fixed.end()) {
        values.push_back(getAffineConstantExpr(found->second, context));
        removed.set(number);
      } else {
        values.push_back(getAffineSymbolExpr(next++, context));
      }
    // Every affine map and set in a graph refers to the symbols of @main.
    AttrTypeReplacer replacer;
    auto replaced = [&](AffineMap map) { return map.replaceDimsAndSymbols({}, values, map.getNumDims(), next); };
    replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
      SmallVector<AffineExpr> sizes = graph::sizesOf(type);
      for (AffineExpr &size : sizes)
        size = size.replaceSymbols(values);
      return std::pair(Type(graph::tensorWithSizes(sizes, type.getElementType())), WalkResult::skip());
    });
    replacer.addReplacement(
        [&](AffineMapAttr map) -> Attribute { return AffineMapAttr::get(replaced(map.getValue())); });
    replacer.addReplacement([&](IntegerSetAttr set) -> Attribute {
      IntegerSet before = set.getValue();
      return IntegerSetAttr::get(before.replaceDimsAndSymbols({}, values, before.getNumDims(), next));
    });
    replacer.recursivelyReplaceElementsIn(main, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
    for (unsigned number : removed.set_bits()) { // ops use sizes only in types and maps
      assert(main.getArgument(number).use_empty());
      (void)number;
    }
    (void)main.eraseArguments(removed);
  }

private:
  int64_t bound(unsigned symbol, llvm::StringRef name, int64_t otherwise) {
    auto attribute = main.getArgAttrOfType<IntegerAttr>(symbol, name);
    return attribute ? attribute.getInt() : otherwise;
  }

  /// Returns the index of the argument of @main that is the symbolic size that `inputDim` specifies, by an input and a
  /// dimension or by a name.
  llvm::Expected<unsigned> symbolOf(const DynamicSize::InputDim &inputDim) {
    std::vector<std::string> names;
    if (inputDim.dim == DynamicSize::InputDim::named) {
      for (auto [number, symbol] : llvm::enumerate(graph::symbolicSizesOf(main))) {
        if (symbol.name == inputDim.input)
          return unsigned(number);
        names.push_back(symbol.name);
      }
      return llvm::createStringError(
          "the model has no size '" + inputDim.input + "'; " +
          (names.empty() ? "all its sizes are numbers" : "its sizes are " + llvm::join(names, ", ")));
    }
    for (BlockArgument argument : main.getArguments()) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::nameAttrName);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!name || !type)
        continue;
      if (!main.getArgAttr(argument.getArgNumber(), "tw.static"))
        names.push_back(name.str());
      if (name != inputDim.input)
        continue;
      if (inputDim.dim >= type.getRank())
        return llvm::createStringError("the input '%s' has %d dimensions; there is no %s:%lld", inputDim.input.c_str(),
                                       int(type.getRank()), inputDim.input.c_str(), (long long)inputDim.dim);
      SmallVector<AffineExpr> sizes = graph::sizesOf(type);
      AffineExpr size = sizes.empty() ? AffineExpr() : sizes[inputDim.dim];
      if (auto number = dyn_cast_or_null<AffineConstantExpr>(size))
        return llvm::createStringError(
            "%s:%lld is %lld, a constant of the exported model; export the model with a dynamic size, for example with "
            "tilewright.export(..., dynamic_shapes={\"%s\": {%lld: torch.export.Dim(\"n\", min=2, max=512)}})",
            inputDim.input.c_str(), (long long)inputDim.dim, (long long)number.getValue(), inputDim.input.c_str(),
            (long long)inputDim.dim);
      auto symbol = dyn_cast_or_null<AffineSymbolExpr>(size);
      if (!symbol)
        return llvm::createStringError(
            "%s:%lld is computed from other sizes of the model; set the ranges of these sizes instead",
            inputDim.input.c_str(), (long long)inputDim.dim);
      return symbol.getPosition();
    }
    return llvm::createStringError("the model has no input '%s'; its inputs are %s", inputDim.input.c_str(),
                                   llvm::join(names, ", ").c_str());
  }

  func::FuncOp main;
  std::map<unsigned, int64_t> fixed; ///< for each symbol: its fixed value
};

} // namespace

llvm::Error narrowSizes(ModuleOp module, llvm::ArrayRef<DynamicSize> sizes) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return sizes.empty() ? llvm::Error::success() : llvm::createStringError("the module has no function @main");
  SizeNarrower narrower(main);
  for (const DynamicSize &size : sizes)
    if (llvm::Error failed = narrower.narrow(size))
      return failed;
  narrower.fix();
  return llvm::Error::success();
}

} // namespace tilewright
