//===- RunInputs.cpp - inputs of a model for `tilewright run` -------------------------===//
//
// The values of symbols are derived from the sizes of the inputs, as in torch.compile. First, each size that is a
// single symbol determines this symbol. Then, each size that is a linear function of one unknown symbol determines this
// symbol. Finally, all sizes are compared with the values of the symbols.
//
// Test: test/Tools/run.mlir, test/Python/test_exported.py
//
//===----------------------------------------------------------------------===//
#include "RunInputs.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/SizeRules.h"
#include "tilewright/Target.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <random>

using namespace mlir;

namespace tilewright::driver {
namespace {

constexpr llvm::StringLiteral seedName = "seed";

/// A tensor argument of @main.
struct TensorArgument {
  std::string name;
  RankedTensorType type;
  const void *weight = nullptr;
  bool isSeed = false; ///< true for the last argument of a model with random numbers, which --input may omit
};

std::vector<TensorArgument> tensorArguments(const ModelFile &model, func::FuncOp main) {
  std::vector<TensorArgument> arguments;
  for (BlockArgument argument : main.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType())) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::nameAttrName);
      size_t index = arguments.size();
      arguments.push_back({name ? name.str() : "input" + std::to_string(index), type, model.weight(index)});
    }
  if (!arguments.empty() && arguments.back().name == seedName) {
    RankedTensorType type = arguments.back().type;
    arguments.back().isSeed = type.getElementType().isInteger(64) && type.getShape() == ArrayRef<int64_t>{1};
  }
  return arguments;
}

using Symbols = ArrayRef<graph::SymbolicSize>;

std::optional<int64_t> evaluate(AffineExpr size, ArrayRef<int64_t> symbols) {
  SmallVector<AffineExpr> values;
  for (int64_t value : symbols)
    values.push_back(getAffineConstantExpr(value, size.getContext()));
  auto known = dyn_cast<AffineConstantExpr>(size.replaceSymbols(values));
  return known ? std::optional(known.getValue()) : std::nullopt;
}

/// Returns a tensor type as text for error messages, such as "float32[batch, 4]".
std::string describe(RankedTensorType type, Symbols symbols) {
  std::string text = dtypeNameOf(type.getElementType()) + "[";
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(graph::sizesOf(type), out, [&](AffineExpr size) { out << graph::sizeText(size, symbols); });
  return text + "]";
}

std::string describe(const HostTensor &tensor) {
  std::string text = dtypeNameOf(tensor.element) + "[";
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(tensor.sizes, out);
  return text + "]";
}

/// If `size` contains exactly one unknown symbol, sets this symbol so that the size is `value`. The size must be a
/// linear function of this symbol. If no value of the symbol fits, the symbol stays unknown.
void solve(AffineExpr size, int64_t value, std::vector<std::optional<int64_t>> &symbols) {
  int unknown = -1;
  unsigned unknowns = 0;
  std::vector<int64_t> trial;
  for (auto known : symbols)
    trial.push_back(known.value_or(0));
  for (unsigned i = 0; i < symbols.size(); ++i)
    if (!symbols[i] && size.isFunctionOfSymbol(i)) {
      unknown = i;
      ++unknowns;
    }
  if (unknowns != 1)
    return;
  std::optional<int64_t> atZero = evaluate(size, trial);
  trial[unknown] = 1;
  std::optional<int64_t> atOne = evaluate(size, trial);
  if (atZero && atOne && *atOne > *atZero && value >= *atZero && (value - *atZero) % (*atOne - *atZero) == 0)
    symbols[unknown] = (value - *atZero) / (*atOne - *atZero);
}

using GivenTensors = std::vector<std::pair<const TensorArgument *, const HostTensor *>>;

/// Checks that all symbols are within their ranges. The error names the tensor's dimension that violates a range.
llvm::Error checkRanges(Symbols declared, const GivenTensors &given, ArrayRef<int64_t> values) {
  for (auto [argument, tensor] : given)
    for (auto [dim, size] : llvm::enumerate(graph::sizesOf(argument->type)))
      for (auto [number, symbol] : llvm::enumerate(declared))
        if (size.isFunctionOfSymbol(number) && (values[number] < symbol.min || values[number] > symbol.max))
          return llvm::createStringError("the input '" + argument->name + "' has the size " +
                                         std::to_string(tensor->sizes[dim]) + " in dimension " + std::to_string(dim) +
                                         "; the model takes " + describe(argument->type, declared) + ", where " +
                                         symbol.name + " is " + std::to_string(symbol.min) +
                                         (symbol.max == INT64_MAX ? " or more" : " to " + std::to_string(symbol.max)));
  return llvm::Error::success();
}

llvm::Expected<std::vector<int64_t>> solveSymbols(Symbols declared, const GivenTensors &given) {
  std::vector<std::optional<int64_t>> symbols(declared.size());
  for (bool bare : {true, false})
    for (auto [argument, tensor] : given)
      for (auto [size, value] : llvm::zip_equal(graph::sizesOf(argument->type), tensor->sizes))
        if (isa<AffineSymbolExpr>(size) == bare)
          solve(size, value, symbols);
  std::vector<int64_t> values;
  for (auto [size, symbol] : llvm::zip_equal(declared, symbols)) {
    if (!symbol) {
      std::string text = "no value of the size " + size.name + " fits the sizes of the inputs";
      for (auto [argument, tensor] : given)
        if (llvm::any_of(graph::sizesOf(argument->type), [&, number = unsigned(values.size())](AffineExpr expr) {
              return expr.isFunctionOfSymbol(number);
            }))
          text += "; '" + argument->name + "' is " + describe(*tensor) + ", and the model takes " +
                  describe(argument->type, declared);
      return llvm::createStringError(text);
    }
    values.push_back(*symbol);
  }
  for (auto [argument, tensor] : given)
    for (auto [size, value] : llvm::zip_equal(graph::sizesOf(argument->type), tensor->sizes))
      if (std::optional<int64_t> expected = evaluate(size, values); expected != value) {
        std::string text = "the input '" + argument->name + "' is " + describe(*tensor) + "; the model takes " +
                           describe(argument->type, declared);
        for (auto [number, value] : llvm::enumerate(values))
          text += (number ? ", " : ", with ") + declared[number].name + " = " + std::to_string(value);
        return llvm::createStringError(text);
      }
  if (llvm::Error outside = checkRanges(declared, given, values))
    return outside;
  return values;
}

llvm::Expected<std::vector<int64_t>> chooseSymbols(Symbols declared, ArrayRef<int64_t> given) {
  std::vector<int64_t> values;
  for (const graph::SymbolicSize &size : declared)
    values.push_back(values.size() < given.size() ? given[values.size()] : std::clamp<int64_t>(8, size.min, size.max));
  for (auto [value, size] : llvm::zip(values, declared))
    if (value < size.min || value > size.max)
      return llvm::createStringError("--sizes gives " + size.name + " the value " + std::to_string(value) +
                                     "; the model takes " + std::to_string(size.min) +
                                     (size.max == INT64_MAX ? " or more" : " to " + std::to_string(size.max)));
  if (given.size() > values.size())
    return llvm::createStringError("--sizes has %zu values; @main has %zu symbolic sizes", given.size(), values.size());
  return values;
}

void fillRandom(HostTensor &tensor, std::mt19937_64 &random) {
  for (int64_t i = 0; i < tensor.count(); ++i) {
    uint64_t bits = random() >> 63;
    if (auto floats = dyn_cast<FloatType>(tensor.element)) {
      llvm::APFloat value(double(int64_t(random() >> 11)) / double(int64_t(1) << 52) - 1);
      bool lossy;
      value.convert(floats.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    tensor.setBits(i, bits);
  }
}

/// Reads `files`, each "NAME=x.npy". Returns the tensors by the number of the argument.
llvm::Expected<std::map<size_t, HostTensor>> readFiles(ArrayRef<TensorArgument> arguments, Symbols symbols,
                                                       ArrayRef<std::string> files) {
  std::vector<std::string> names;
  for (const TensorArgument &argument : arguments)
    if (!argument.weight)
      names.push_back(argument.name);
  std::map<size_t, HostTensor> tensors;
  for (StringRef file : files) {
    auto [name, path] = file.split('=');
    if (path.empty())
      return llvm::createStringError("--input must be NAME=FILE.npy, not '" + file + "'");
    size_t index = 0;
    while (index < arguments.size() && (arguments[index].weight || arguments[index].name != name))
      ++index;
    if (index == arguments.size())
      return llvm::createStringError("the model has no input '" + name + "'" + suggestName(name, names) +
                                     "; its inputs are " + llvm::join(names, ", "));
    const TensorArgument &argument = arguments[index];
    auto tensor = readNpy(path, argument.type.getElementType());
    if (!tensor)
      return llvm::createStringError("the input '" + name + "': " + llvm::toString(tensor.takeError()));
    if (int64_t(tensor->sizes.size()) != argument.type.getRank())
      return llvm::createStringError("the input '" + name + "' is " + describe(*tensor) + "; the model takes " +
                                     describe(argument.type, symbols));
    if (!tensors.try_emplace(index, std::move(*tensor)).second)
      return llvm::createStringError("the input '" + name + "' is given twice");
  }
  std::string missing;
  for (auto [index, argument] : llvm::enumerate(arguments))
    if (!files.empty() && !argument.weight && !argument.isSeed && !tensors.count(index))
      missing += (missing.empty() ? "" : ", ") + argument.name + ": " + describe(argument.type, symbols);
  if (!missing.empty())
    return llvm::createStringError("some inputs are missing: " + missing + " (--input NAME=FILE.npy)");
  return tensors;
}

} // namespace

llvm::Expected<HostTensor> tensorOf(RankedTensorType type, ArrayRef<int64_t> symbols) {
  HostTensor tensor;
  tensor.element = type.getElementType();
  for (AffineExpr size : graph::sizesOf(type)) {
    std::optional<int64_t> known = evaluate(size, symbols);
    if (!known || *known < 0)
      return llvm::createStringError(
          "a size of a tensor is negative or cannot be computed from the symbolic sizes; change --sizes");
    tensor.sizes.push_back(*known);
  }
  if (llvm::Error failed = tensor.allocate())
    return std::move(failed);
  return tensor;
}

llvm::Expected<RunInputs> makeInputs(const ModelFile &model, func::FuncOp main, ArrayRef<std::string> files,
                                     ArrayRef<int64_t> sizes, uint64_t seed) {
  std::vector<TensorArgument> arguments = tensorArguments(model, main);
  const SmallVector<graph::SymbolicSize> declared = graph::symbolicSizesOf(main);
  if (!files.empty() && !sizes.empty())
    return llvm::createStringError(
        "--sizes applies only to random inputs; with --input, the sizes are those of the files");
  llvm::Expected<std::map<size_t, HostTensor>> read = readFiles(arguments, declared, files);
  if (!read)
    return read.takeError();
  GivenTensors given;
  for (auto &[index, tensor] : *read)
    given.push_back({&arguments[index], &tensor});
  auto symbols = files.empty() ? chooseSymbols(declared, sizes) : solveSymbols(declared, given);
  if (!symbols)
    return symbols.takeError();
  RunInputs inputs;
  inputs.symbols = std::move(*symbols);
  std::mt19937_64 random{seed};
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    if (argument.weight) {
      inputs.pointers.push_back(argument.weight);
      continue;
    }
    if (auto found = read->find(index); found != read->end()) {
      inputs.tensors.push_back(std::move(found->second));
    } else {
      llvm::Expected<HostTensor> tensor = tensorOf(argument.type, inputs.symbols);
      if (!tensor)
        return tensor.takeError();
      fillRandom(*tensor, random);
      inputs.tensors.push_back(std::move(*tensor));
    }
    inputs.pointers.push_back(inputs.tensors.back().bytes.data()); // remains valid if the HostTensor is moved
  }
  return inputs;
}

} // namespace tilewright::driver
