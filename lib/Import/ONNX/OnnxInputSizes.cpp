//===- OnnxInputSizes.cpp - symbolic sizes of a model's inputs ----------------------===//
//
// Test: test/Tools/onnx.test, test/Python/test_onnx.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxInputSizes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright {

namespace {

/// Calls `visit` with each size of `inputs`; an input of unknown rank has none.
template <typename Inputs, typename Visit> void forEachSize(Inputs &inputs, Visit visit) {
  for (auto &input : inputs)
    if (input.sizes)
      for (auto [dim, size] : llvm::enumerate(*input.sizes))
        visit(input, dim, size);
}

std::string unnamed(const onnx::ValueInfo &input, size_t dim) { return input.name + "_" + std::to_string(dim); }

} // namespace

OnnxInputSizes::OnnxInputSizes(const onnx::Graph &graph) {
  for (const onnx::ValueInfo &input : graph.inputs)
    if (!graph.initializers.count(input.name))
      found.push_back(input);
  // First add the names in the file, so that a size without a name gets a different name.
  forEachSize(found, [&](const onnx::ValueInfo &, size_t, onnx::Size &size) {
    const auto *name = std::get_if<std::string>(&size);
    if (!name)
      return;
    auto symbol = symbolOf.find(*name);
    if (symbol == symbolOf.end())
      symbol = symbolOf.emplace(*name, newSymbol(*name)).first;
    size = symbol->second;
  });
  forEachSize(found, [&](const onnx::ValueInfo &input, size_t dim, onnx::Size &size) {
    if (std::holds_alternative<std::monostate>(size))
      size = newSymbol(unnamed(input, dim));
  });
}

/// Adds a symbol and returns its name, which is an identifier derived from `name` that no other symbol has.
std::string OnnxInputSizes::newSymbol(llvm::StringRef name) {
  std::string plain = name.str();
  for (char &c : plain)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  if (plain.empty() || llvm::isDigit(plain[0]))
    plain = "_" + plain;
  std::string symbol = plain;
  for (int number = 2; !symbols.insert(symbol).second; ++number)
    symbol = plain + "_" + std::to_string(number);
  return symbol;
}

void OnnxInputSizes::makeDynamic(const DynamicSize &dynamic, Complaints &complaints) {
  std::vector<onnx::Size *> sizes;
  std::string name, first; // name of the symbol; name of the first size, for a new symbol
  for (const auto &[input, dim] : dynamic.dims) {
    if (dim == DynamicSize::InputDim::named) {
      std::vector<onnx::Size *> same = sizesNamed(input);
      if (same.empty())
        return complaints.add("it has no size '" + input + "'; " + namesOfSizes());
      sizes.insert(sizes.end(), same.begin(), same.end());
      if (name.empty())
        name = std::get<std::string>(*same.front());
      continue;
    }
    auto info = llvm::find_if(found, [&](const onnx::ValueInfo &info) { return info.name == input; });
    if (info == found.end())
      return complaints.add("it has no input '" + input + "' whose size could become symbolic");
    if (!info->sizes || size_t(dim) >= info->sizes->size())
      return complaints.add("the input '" + input + "' has no dimension " + std::to_string(dim) +
                            " whose size could become symbolic");
    sizes.push_back(&(*info->sizes)[dim]);
    if (const auto *symbol = std::get_if<std::string>(sizes.back()); symbol && name.empty())
      name = *symbol;
    if (first.empty())
      first = unnamed(*info, dim);
  }
  if (name.empty() && !dynamic.isFixed())
    name = newSymbol(first);
  const onnx::Size after = dynamic.isFixed() ? onnx::Size(dynamic.min) : onnx::Size(name);
  for (onnx::Size *size : sizes) {
    const onnx::Size before = *size;
    if (const auto *symbol = std::get_if<std::string>(&before)) { // also change all other sizes with this symbol
      forEachSize(found, [&](const onnx::ValueInfo &, size_t, onnx::Size &other) {
        if (other == before)
          other = after;
      });
      if (dynamic.isFixed())
        std::erase_if(symbolOf, [&](const auto &named) { return named.second == *symbol; });
      else
        for (std::string &other : llvm::make_second_range(symbolOf))
          if (other == *symbol)
            other = name;
    }
    *size = after;
  }
  if (!dynamic.isFixed())
    ranges[name] = {dynamic.min, dynamic.max};
}

void OnnxInputSizes::addSymbols(OnnxGraph &graph, Complaints &complaints) const {
  llvm::StringSet<> known;
  forEachSize(found, [&](const onnx::ValueInfo &, size_t, const onnx::Size &size) {
    const auto *symbol = std::get_if<std::string>(&size);
    if (!symbol || !known.insert(*symbol).second)
      return;
    const std::string &name = *symbol;
    auto range = ranges.find(name);
    const bool isUsers = range != ranges.end();
    auto [min, max] = isUsers ? range->second : std::pair<int64_t, int64_t>(1, INT64_MAX);
    if (llvm::Error error = graph.builder.addSymbol(name, min, max))
      complaints.add(llvm::toString(std::move(error)));
    else if (isUsers)
      graph.importer.varying.insert(graph.importer.symbols.find(name)->second.expr);
  });
}

/// Returns the sizes of inputs whose name in the file is `name`.
std::vector<onnx::Size *> OnnxInputSizes::sizesNamed(llvm::StringRef name) {
  std::vector<onnx::Size *> same;
  auto symbol = symbolOf.find(name.str());
  if (symbol == symbolOf.end())
    return same;
  forEachSize(found, [&](const onnx::ValueInfo &, size_t, onnx::Size &size) {
    if (size == onnx::Size(symbol->second))
      same.push_back(&size);
  });
  return same;
}

std::string OnnxInputSizes::namesOfSizes() const {
  return symbolOf.empty() ? "none of its sizes has a name"
                          : "its sizes are " + llvm::join(llvm::make_first_range(symbolOf), ", ");
}

} // namespace tilewright
