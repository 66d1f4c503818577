//===- OnnxInputSizes.cpp - symbolic sizes of a model's inputs ----------------------===//
//
// Test: test/Tools/onnx.test, test/Python/test_onnx.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxInputSizes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <set>

namespace tilewright {

namespace {

/// Calls `visit` with each known size of `inputs`; an input of unknown rank has none.
template <typename Inputs, typename Visit> void forEachSize(Inputs &inputs, Visit visit) {
  for (auto &input : inputs)
    if (input.sizes)
      for (auto [dim, size] : llvm::enumerate(*input.sizes))
        visit(input, dim, size);
}

} // namespace

std::string symbolOf(const onnx::Size &size, const std::string &input, size_t dim) {
  std::string name =
      std::holds_alternative<std::string>(size) ? std::get<std::string>(size) : input + "_" + std::to_string(dim);
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  return llvm::isDigit(name[0]) ? "_" + name : name;
}

OnnxInputSizes::OnnxInputSizes(const onnx::Graph &graph) {
  for (const onnx::ValueInfo &input : graph.inputs)
    if (!graph.initializers.count(input.name))
      found.push_back(input);
}

void OnnxInputSizes::makeDynamic(const DynamicSize &dynamic, Complaints &complaints) {
  std::vector<onnx::Size *> sizes;
  std::string name;
  for (const auto &[input, dim] : dynamic.places) {
    if (dim == DynamicSize::Place::named) {
      std::vector<onnx::Size *> same = sizesNamed(input);
      if (same.empty())
        return complaints.add("it has no size '" + input + "'; " + namesOfSizes());
      sizes.insert(sizes.end(), same.begin(), same.end());
      if (name.empty())
        name = symbolOf(*same.front(), input, 0);
      continue;
    }
    auto info = llvm::find_if(found, [&](const onnx::ValueInfo &info) { return info.name == input; });
    if (info == found.end())
      return complaints.add("it has no input '" + input + "', of which a size is to vary");
    if (!info->sizes || size_t(dim) >= info->sizes->size())
      return complaints.add("the input '" + input + "' has no dimension " + std::to_string(dim) +
                            ", of which the size is to vary");
    sizes.push_back(&(*info->sizes)[dim]);
    if (name.empty() && !std::holds_alternative<int64_t>(*sizes.back()))
      name = symbolOf(*sizes.back(), input, dim);
  }
  if (name.empty())
    name = symbolOf({}, dynamic.places[0].input, dynamic.places[0].dim);
  const onnx::Size after = dynamic.isFixed() ? onnx::Size(dynamic.min) : onnx::Size(name);
  for (onnx::Size *size : sizes) {
    const onnx::Size before = *size;
    if (std::holds_alternative<std::string>(before)) // sizes of the same name are equal
      forEachSize(found, [&](const onnx::ValueInfo &, size_t, onnx::Size &other) {
        if (other == before)
          other = after;
      });
    *size = after;
  }
  if (!dynamic.isFixed())
    ranges[name] = {dynamic.min, dynamic.max};
}

void OnnxInputSizes::addSymbols(OnnxGraph &graph, Complaints &complaints) const {
  llvm::StringSet<> known;
  forEachSize(found, [&](const onnx::ValueInfo &input, size_t dim, const onnx::Size &size) {
    if (std::holds_alternative<int64_t>(size))
      return;
    std::string name = symbolOf(size, input.name, dim);
    if (!known.insert(name).second)
      return;
    auto range = ranges.find(name);
    const bool isUsers = range != ranges.end();
    auto [min, max] = isUsers ? range->second : std::pair<int64_t, int64_t>(1, INT64_MAX);
    if (llvm::Error error = graph.builder.addSymbol(name, min, max))
      complaints.add(llvm::toString(std::move(error)));
    else if (isUsers)
      graph.importer.varying.insert(graph.importer.symbols.find(name)->second.expr);
  });
}

/// Returns the sizes of inputs that the file calls `name`.
std::vector<onnx::Size *> OnnxInputSizes::sizesNamed(llvm::StringRef name) {
  std::vector<onnx::Size *> same;
  forEachSize(found, [&](const onnx::ValueInfo &, size_t, onnx::Size &size) {
    if (std::holds_alternative<std::string>(size) && std::get<std::string>(size) == name)
      same.push_back(&size);
  });
  return same;
}

std::string OnnxInputSizes::namesOfSizes() const {
  std::set<std::string> names;
  forEachSize(found, [&](const onnx::ValueInfo &, size_t, const onnx::Size &size) {
    if (std::holds_alternative<std::string>(size))
      names.insert(std::get<std::string>(size));
  });
  return names.empty() ? "none of its sizes has a name" : "its sizes are " + llvm::join(names, ", ");
}

} // namespace tilewright
