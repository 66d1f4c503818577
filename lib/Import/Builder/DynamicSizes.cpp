//===- DynamicSizes.cpp - ranges of symbolic sizes that the user states ---------------===//
//
// Before: @main(%n: index {tw.symbol = "n", tw.min = 1, tw.max = 1024}, %x: tensor<?x8xf32> {tw.name = "x"})
// After x:0=2..512:        {tw.symbol = "n", tw.min = 2, tw.max = 512}
//
// Test: test/Tools/dynamic.test
//
//===----------------------------------------------------------------------===//
#include "tilewright/DynamicSizes.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {

static llvm::Error malformed(llvm::StringRef text, const llvm::Twine &why) {
  return llvm::createStringError("'" + text + "' is no dynamic size: " + why +
                                 "; it is written input:dimension=least..most, as x:0=2..512 or ids:0,mask:0=1..");
}

llvm::Expected<DynamicSize> parseDynamicSize(llvm::StringRef text) {
  auto [places, range] = text.rsplit('=');
  if (places.size() == text.size())
    return malformed(text, "it has no =");
  DynamicSize size;
  llvm::SmallVector<llvm::StringRef> parts;
  places.split(parts, ',');
  for (llvm::StringRef part : parts) {
    auto [input, dim] = part.trim().rsplit(':');
    DynamicSize::Place &place = size.places.emplace_back();
    place.input = input.str();
    if (input.empty() || dim.getAsInteger(10, place.dim) || place.dim < 0)
      return malformed(text, "'" + part + "' is no input:dimension");
  }
  auto [least, most] = range.split("..");
  if (least.size() == range.size() || least.trim().getAsInteger(10, size.min) ||
      (!most.trim().empty() && most.trim().getAsInteger(10, size.max)))
    return malformed(text, "'" + range + "' is no least..most");
  if (size.min < 0 || size.min > size.max)
    return malformed(text, "no size is in " + range);
  return size;
}

namespace {

class SizeNarrower {
public:
  explicit SizeNarrower(func::FuncOp main) : main(main) {}

  llvm::Error narrow(const DynamicSize &size) {
    std::optional<unsigned> symbol;
    for (const DynamicSize::Place &place : size.places) {
      llvm::Expected<unsigned> found = symbolOf(place);
      if (!found)
        return found.takeError();
      if (symbol && *symbol != *found)
        return llvm::createStringError("%s:%lld and %s:%lld are different sizes of the model, not one", // NOLINT
                                       size.places[0].input.c_str(), (long long)size.places[0].dim, place.input.c_str(),
                                       (long long)place.dim);
      symbol = *found;
    }
    const int64_t least = bound(*symbol, graph::symbolMinAttrName, 0),
                  most = bound(*symbol, graph::symbolMaxAttrName, INT64_MAX);
    const int64_t max = size.max == INT64_MAX ? most : size.max;
    if (size.min < least || max > most) {
      std::string range = std::to_string(least) + (most == INT64_MAX ? " or more" : " to " + std::to_string(most));
      return llvm::createStringError("%s:%lld is a size of %s in the model, which %lld..%s leaves",
                                     size.places[0].input.c_str(), (long long)size.places[0].dim, range.c_str(),
                                     (long long)size.min, max == INT64_MAX ? "" : std::to_string(max).c_str());
    }
    auto type = IntegerType::get(main.getContext(), 64);
    main.setArgAttr(*symbol, graph::symbolMinAttrName, IntegerAttr::get(type, size.min));
    main.setArgAttr(*symbol, graph::symbolMaxAttrName, IntegerAttr::get(type, max));
    return llvm::Error::success();
  }

private:
  int64_t bound(unsigned symbol, llvm::StringRef name, int64_t otherwise) {
    auto attribute = main.getArgAttrOfType<IntegerAttr>(symbol, name);
    return attribute ? attribute.getInt() : otherwise;
  }

  /// Returns the number of @main's argument that is the size at `place`.
  llvm::Expected<unsigned> symbolOf(const DynamicSize::Place &place) {
    std::vector<std::string> names;
    for (BlockArgument argument : main.getArguments()) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::nameAttrName);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!name || !type)
        continue;
      if (!main.getArgAttr(argument.getArgNumber(), "tw.static"))
        names.push_back(name.str());
      if (name != place.input)
        continue;
      if (place.dim >= type.getRank())
        return llvm::createStringError("the input '%s' has %d dimensions; there is no %s:%lld", place.input.c_str(),
                                       int(type.getRank()), place.input.c_str(), (long long)place.dim);
      SmallVector<AffineExpr> sizes = graph::sizesOf(type);
      AffineExpr size = sizes.empty() ? AffineExpr() : sizes[place.dim];
      if (auto number = dyn_cast_or_null<AffineConstantExpr>(size))
        return llvm::createStringError(
            "%s:%lld is %lld, a number that the model was made with; export it with a size there that varies, as "
            "tilewright.export(..., dynamic_shapes={\"%s\": {%lld: torch.export.Dim(\"n\", min=2, max=512)}})",
            place.input.c_str(), (long long)place.dim, (long long)number.getValue(), place.input.c_str(),
            (long long)place.dim);
      auto symbol = dyn_cast_or_null<AffineSymbolExpr>(size);
      if (!symbol)
        return llvm::createStringError("%s:%lld follows from other sizes of the model; give their ranges",
                                       place.input.c_str(), (long long)place.dim);
      return symbol.getPosition();
    }
    return llvm::createStringError("the model has no input '%s'; its inputs are %s", place.input.c_str(),
                                   llvm::join(names, ", ").c_str());
  }

  func::FuncOp main;
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
  return llvm::Error::success();
}

} // namespace tilewright
