//===- Interface.cpp - the interface of a library's model --------------------------===//
#include "lib/AOT/Interface.h"
#include "dialects/Graph/Dtype.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/SizeRules.h"
#include "lib/AOT/ReservedNames.h"
#include "lib/Plan/PlanFromIR.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright::library {
namespace {

std::optional<DType> dtypeOf(Type type) {
  const std::string name = dtypeName(type);
  const auto *row = llvm::find_if(dtypes, [&](const DTypeInfo &info) { return info.name == name; });
  return row == std::end(dtypes) ? std::nullopt : std::optional(DType(row - dtypes));
}

class InterfaceReader {
public:
  InterfaceReader(func::FuncOp main, ArrayRef<const void *> weights)
      : main(main), weights(weights), symbols(graph::symbolicSizesOf(main)) {}

  llvm::Expected<Interface> run() {
    for (const graph::SymbolicSize &symbol : symbols)
      made.symbols.push_back({symbol.name, symbol.min, symbol.max});
    size_t number = 0;
    for (BlockArgument argument : main.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type)
        continue;
      size_t input = number++;
      if (weightOf(weights, input))
        continue;
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::nameAttrName);
      if (llvm::Error failed = readTensor(type, name, input, "input", made.inputs))
        return std::move(failed);
    }
    number = 0;
    for (auto [position, type] : llvm::enumerate(main.getResultTypes())) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return llvm::createStringError("result %zu of @main is not a tensor; an ahead-of-time library returns tensors",
                                       position);
      if (auto into = main.getResultAttrOfType<IntegerAttr>(position, graph::intoAttrName)) {
        if (llvm::Error failed = markInPlace(into.getInt()))
          return std::move(failed);
        continue;
      }
      auto name = main.getResultAttrOfType<StringAttr>(position, graph::nameAttrName);
      if (llvm::Error failed = readTensor(tensor, name, number++, "output", made.outputs))
        return std::move(failed);
    }
    return checkSymbols();
  }

private:
  llvm::Error readTensor(RankedTensorType type, StringAttr name, size_t number, const char *what,
                         std::vector<InterfaceTensor> &list) {
    InterfaceTensor tensor;
    tensor.number = int64_t(number);
    tensor.name = name && !name.empty() ? name.str() : what + std::to_string(list.size());
    std::optional<DType> dtype = dtypeOf(type.getElementType());
    if (!dtype) {
      std::string text;
      llvm::raw_string_ostream(text) << type.getElementType();
      return llvm::createStringError("%s '%s' has elements of %s, which an ahead-of-time library cannot pass; convert "
                                     "them in the model",
                                     what, tensor.name.c_str(), text.c_str());
    }
    tensor.dtype = *dtype;
    if (type.getRank() > maxRank)
      return llvm::createStringError(
          "%s '%s' has %d dimensions; an ahead-of-time library supports at most %d; reshape it", what,
          tensor.name.c_str(), int(type.getRank()), maxRank);
    for (AffineExpr size : graph::sizesOf(type)) {
      tensor.sizes.push_back(exprFrom(AffineMap::get(0, made.symbols.size(), size)));
      tensor.sizeTexts.push_back(graph::sizeText(size, symbols));
      auto constant = dyn_cast<AffineConstantExpr>(size);
      tensor.fixedSizes.push_back(constant ? constant.getValue() : -1);
    }
    if (int64_t(tensor.sizes.size()) != type.getRank())
      return llvm::createStringError("%s '%s' has sizes that cannot be computed from the symbolic sizes", what,
                                     tensor.name.c_str());
    list.push_back(std::move(tensor));
    return llvm::Error::success();
  }

  llvm::Error markInPlace(int64_t number) {
    for (InterfaceTensor &input : made.inputs)
      if (input.number == number) {
        input.inPlace = true;
        return llvm::Error::success();
      }
    return llvm::createStringError("a result of @main is written into tensor argument %d, which is a weight of the "
                                   "library; make it an input, or export the model in eval mode",
                                   int(number));
  }

  /// Returns the interface, or an error if there is a symbol that cannot be computed from an input. For each symbol, an
  /// input must have a size that is an affine function of this symbol alone.
  llvm::Expected<Interface> checkSymbols() {
    for (auto [number, symbol] : llvm::enumerate(made.symbols)) {
      auto determines = [number = int64_t(number)](const plan::Expr &size) {
        return plan::linearSymbol(size) == number;
      };
      if (llvm::none_of(made.inputs,
                        [&](const InterfaceTensor &input) { return llvm::any_of(input.sizes, determines); }))
        return llvm::createStringError("the symbolic size '%s' is not the size of a dimension of an input, so that a "
                                       "caller cannot specify it; export the model with an input of this size",
                                       symbol.name.c_str());
    }
    return std::move(made);
  }

  func::FuncOp main;
  ArrayRef<const void *> weights;
  SmallVector<graph::SymbolicSize> symbols;
  Interface made;
};

} // namespace

std::string InterfaceTensor::text() const {
  return std::string(dtypes[int(dtype)].name) + " [" + llvm::join(sizeTexts, ", ") + "]";
}

/// Returns true if the header of a model called `name` would declare an identifier that is reserved (see
/// reservedNames()).
static bool isReserved(StringRef name) {
  static const llvm::StringSet<> known = [] {
    llvm::StringSet<> names;
    SmallVector<StringRef> words;
    StringRef(reservedNames()).split(words, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef word : words)
      names.insert(word);
    return names;
  }();
  static constexpr llvm::StringLiteral types[] = {"", "_tensor", "_tensor_info", "_options", "_step"};
  auto isKnown = [&](StringRef suffix) { return known.contains((name + suffix).str()); };
  return name.ends_with("_t") || llvm::any_of(types, isKnown) || llvm::any_of(functionSuffixes, isKnown);
}

std::string identifierFrom(StringRef text) {
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]) || name[0] == '_' || isReserved(name))
    name = "model_" + name;
  return name;
}

llvm::Expected<Interface> readInterface(func::FuncOp main, ArrayRef<const void *> weights) {
  return InterfaceReader(main, weights).run();
}

} // namespace tilewright::library
