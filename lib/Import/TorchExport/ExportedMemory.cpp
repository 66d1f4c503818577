//===- ExportedMemory.cpp - in-place ops of plain exports --------------------------------===//
//
//   node of the program        interpretation
//   %y = mul(%x, 2)            y is in new memory
//   %r = select(%y, 0, 1)      r is a view of y
//   %s = add_(%r, 1)           is replaced by %r = add(%r, 1)
//                                             %y = select_scatter(%y, %r, 0, 1)
//                                             %s = alias(%r)
//   %t = exp(%v)               v is an older view of y, and is computed again before exp
//
// The table of ATen operators (Aliasing in lib/Import/ATen/Table.h) specifies which ops return views. For reshape,
// contiguous and similar ops, the strides of the tensors determine whether the result is a view.
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/TorchExport/ExportedMemory.h"
#include "lib/Import/ATen/Table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace tilewright {

using exported::Argument;
using exported::ArgumentList;
using exported::Size;
using exported::TensorName;

/// Returns the name of an op without namespace and overload, such as "relu_" for "aten.relu_.default".
static llvm::StringRef baseName(llvm::StringRef target) { return target.split('.').second.split('.').first; }

static bool isOneOf(llvm::StringRef name, llvm::StringRef list) { return list.contains((" " + name + " ").str()); }

/// Returns the aliasing of the results of the op `target`.
static Aliasing aliasingOf(llvm::StringRef target) {
  if (const Operator *row = operatorTable().find(target))
    return row->aliasing;
  // Ops without a row in the table may be prims, many of which return views, or custom operators, for which
  // torch.library forbids views.
  return target.starts_with("prims.") ? Aliasing::Unclear : Aliasing::Fresh;
}

/// Returns true if the in-place op `target` changes the shape or the memory of its operand, but writes no elements.
/// Such ops are in-place forms of views, and ops without a functional form. transpose_ is listed by name, because its
/// overloads have other names than those of transpose.
static bool isShaper(llvm::StringRef target) {
  return aliasingOf(ExportedMemory::functional(target)) == Aliasing::View ||
         isOneOf(baseName(target), " resize_ resize_as_ set_ transpose_ ");
}

static const TensorName *firstTensor(const exported::Node &node) {
  return node.positional.empty() ? nullptr : std::get_if<TensorName>(&node.positional[0]);
}

ExportedMemory::ExportedMemory(const exported::Program &program) : graph(program.graph) {
  for (const exported::Input &input : program.inputs)
    if (const auto *tensor = std::get_if<TensorName>(&input.value))
      addMemory(tensor->name, false, /*caller=*/true);
}

std::string ExportedMemory::functional(llvm::StringRef target) {
  llvm::StringRef name = baseName(target);
  if (!target.starts_with("aten.") || !name.ends_with("_") || name.starts_with("_") || name == "detach_")
    return "";
  return ("aten." + name.drop_back() + target.drop_front(5 + name.size())).str();
}

void ExportedMemory::addMemory(const std::string &name, bool unclear, bool caller) {
  add(name, {"", nullptr, 0, memories.size(), 0});
  memories.push_back({0, unclear, caller});
}

const exported::TensorMeta *ExportedMemory::metaOf(const std::string &name) const {
  auto found = graph.tensors.find(name);
  return found == graph.tensors.end() ? nullptr : &found->second;
}

/// Returns true if the tensor is contiguous. The size of the outermost dimension may be symbolic.
static bool isContiguous(const exported::TensorMeta &meta) {
  int64_t expected = 1;
  for (size_t i = meta.sizes.size(); i-- > 0;) {
    const auto *size = std::get_if<int64_t>(&meta.sizes[i]);
    const auto *stride = std::get_if<int64_t>(&meta.strides[i]);
    if (size && *size == 1)
      continue;
    if (!stride || *stride != expected)
      return false;
    if (i > 0 && (!size || __builtin_mul_overflow(expected, *size, &expected)))
      return false;
  }
  return true;
}

/// Returns true if a tensor can be reshaped without a copy, as ATen's computeStride() does. Adjacent dimensions without
/// gaps are merged, and the size of each merged dimension must be a product of new sizes. Returns nullopt if a size or
/// a stride is symbolic or 0, or if a product of sizes overflows.
static std::optional<bool> canReshape(const exported::TensorMeta &before, const exported::TensorMeta &after) {
  llvm::SmallVector<int64_t> sizes, strides, wanted;
  auto numbers = [](const std::vector<Size> &from, llvm::SmallVectorImpl<int64_t> &to) {
    for (const Size &size : from) {
      const auto *number = std::get_if<int64_t>(&size);
      if (!number || *number < 1)
        return false;
      to.push_back(*number);
    }
    return true;
  };
  if (!numbers(before.sizes, sizes) || !numbers(before.strides, strides) || !numbers(after.sizes, wanted))
    return std::nullopt;
  size_t next = wanted.size();
  int64_t run = 1;
  for (size_t dim = sizes.size(), last = dim; dim-- > 0;) {
    if (__builtin_mul_overflow(run, sizes[dim], &run))
      return std::nullopt;
    if (dim > 0 && (sizes[dim - 1] == 1 || strides[dim - 1] == run * strides[last - 1]))
      continue;
    int64_t made = 1;
    while (next > 0 && (made < run || wanted[next - 1] == 1))
      if (__builtin_mul_overflow(made, wanted[--next], &made))
        return std::nullopt;
    if (made != run)
      return false;
    last = dim;
    run = 1;
  }
  return true;
}

/// Returns the argument of a node at position `index` or with the name `name`, or None.
static Argument argumentOf(const exported::Node &node, size_t index, llvm::StringRef name) {
  if (index < node.positional.size())
    return node.positional[index];
  for (const auto &[key, value] : node.named)
    if (key == name)
      return value;
  return {};
}

/// Returns true if an argument of `node` is the constant true.
static bool hasTrue(const exported::Node &node) {
  auto isTrue = [](const Argument &argument) {
    return std::holds_alternative<bool>(argument) && std::get<bool>(argument);
  };
  return llvm::any_of(node.positional, isTrue) ||
         llvm::any_of(node.named, [&](const auto &argument) { return isTrue(argument.second); });
}

std::optional<bool> ExportedMemory::isView(const exported::Node &node, unsigned result) const {
  const Aliasing aliasing = aliasingOf(node.target);
  switch (aliasing) {
  case Aliasing::Fresh:
    return false;
  case Aliasing::View:
  case Aliasing::Views:
  case Aliasing::Alias:
  case Aliasing::Reinterpret:
    return true;
  case Aliasing::Inference: {
    const Argument given = argumentOf(node, 2, "train");
    const bool *train = std::get_if<bool>(&given);
    return train && !*train ? std::optional(true) : std::nullopt;
  }
  case Aliasing::Unclear: {
    if (baseName(node.target) != "einsum") // two operands are multiplied; a single one may only be transposed
      return std::nullopt;
    const auto *operands = node.positional.size() > 1 ? std::get_if<ArgumentList>(&node.positional[1]) : nullptr;
    return operands && operands->size() > 1 ? std::optional(false) : std::nullopt;
  }
  case Aliasing::Reshape:
  case Aliasing::Conversion:
    break;
  }
  const auto *to = result < node.results.size() ? std::get_if<TensorName>(&node.results[result]) : nullptr;
  const exported::TensorMeta *before = firstTensor(node) ? metaOf(firstTensor(node)->name) : nullptr;
  const exported::TensorMeta *after = to ? metaOf(to->name) : nullptr;
  if (!before || !after)
    return std::nullopt;
  if (before->dtype != after->dtype || before->device != after->device)
    return false;
  if (hasTrue(node))
    return std::nullopt; // the constant true may be the argument copy=True
  if (before->sizes == after->sizes)
    return before->strides == after->strides; // if the strides differ, the result is a copy
  if (aliasing == Aliasing::Conversion)
    return std::nullopt;
  return isContiguous(*before) ? std::optional(true) : canReshape(*before, *after);
}

void ExportedMemory::see(const exported::Node &node) {
  bool unclear = false;
  for (auto [i, result] : llvm::enumerate(node.results)) {
    const auto *tensor = std::get_if<TensorName>(&result);
    if (!tensor)
      continue;
    const TensorName *self = firstTensor(node);
    auto parent = self ? tensors.find(self->name) : tensors.end();
    std::optional<bool> view = isView(node, i);
    const bool known = tensors.contains(tensor->name); // the file defines the name twice, so views are unclear
    if (known)
      view = std::nullopt;
    if (view == std::optional(true) && parent != tensors.end()) {
      size_t memory = parent->second.memory;
      add(tensor->name, {self->name, &node, unsigned(i), memory, memories[memory].version});
      continue;
    }
    unclear |= view != std::optional(false);
    addMemory(tensor->name, unclear);
  }
  if (!unclear)
    return;
  auto mark = [&](const std::string &name) {
    if (auto tensor = tensors.find(name); tensor != tensors.end())
      memories[tensor->second.memory].unclear = true;
  };
  for (const Argument &argument : node.positional)
    exported::visitTensors(argument, mark);
  for (const auto &[name, argument] : node.named)
    exported::visitTensors(argument, mark);
}

ExportedMemory::Nodes ExportedMemory::stale(const Argument &argument) {
  Nodes again;
  exported::visitTensors(argument, [&](const std::string &name) {
    llvm::SmallVector<Tensor *> path;
    for (auto tensor = tensors.find(name); tensor != tensors.end(); tensor = tensors.find(tensor->second.parent)) {
      if (!tensor->second.producer || tensor->second.version == memories[tensor->second.memory].version)
        break;
      path.push_back(&tensor->second);
    }
    for (Tensor *tensor : llvm::reverse(path)) {
      again.push_back(tensor->producer);
      // The node computes all of its results again, so all of them are up to date.
      for (const Argument &result : tensor->producer->results)
        if (const auto *other = std::get_if<TensorName>(&result))
          if (auto found = tensors.find(other->name); found != tensors.end())
            found->second.version = memories[tensor->memory].version;
    }
  });
  return again;
}

/// Returns the dimension in the argument at position `index` or with the name "dim". The default is 0.
static int64_t dimOf(const exported::Node &node, size_t index) {
  Argument given = argumentOf(node, index, "dim");
  const auto *known = std::get_if<int64_t>(&given);
  return known ? *known : 0;
}

exported::Node ExportedMemory::inverse(const std::string &child) const {
  const Tensor &tensor = tensors.find(child)->second;
  const exported::Node &producer = *tensor.producer;
  llvm::StringRef name = baseName(producer.target);
  const exported::TensorMeta *before = metaOf(tensor.parent), *after = metaOf(child);
  const Argument whole = TensorName{tensor.parent}, part = TensorName{child};
  exported::Node node;
  node.results = {whole};
  node.location = producer.location;
  if (!before || !after)
    return node;
  auto is = [&](llvm::StringRef target, std::vector<Argument> arguments) {
    node.target = target.str();
    node.positional = std::move(arguments);
    return node;
  };
  auto number = [](Size size) -> Argument {
    if (const auto *known = std::get_if<int64_t>(&size))
      return *known;
    return exported::SizeValue{size};
  };
  const int64_t rank = before->sizes.size();
  if (isOneOf(name, " transpose swapaxes swapdims "))
    return is("aten.transpose.int", {part, argumentOf(producer, 1, "dim0"), argumentOf(producer, 2, "dim1")});
  if (isOneOf(name, " t mT adjoint numpy_T "))
    return is(rank == 2 || name != "numpy_T" ? "aten.mT.default" : "", {part});
  if (name == "permute") {
    Argument dims = argumentOf(producer, 1, "dims");
    const auto *list = std::get_if<ArgumentList>(&dims);
    ArgumentList back(list ? list->size() : 0);
    for (size_t i = 0; i < back.size(); ++i) {
      const auto *dim = std::get_if<int64_t>(&(*list)[i]);
      int64_t to = dim ? (*dim < 0 ? *dim + rank : *dim) : -1;
      if (to < 0 || to >= int64_t(back.size()))
        return node;
      back[to] = int64_t(i);
    }
    return is("aten.permute.default", {part, back});
  }
  if (name == "select")
    return is("aten.select_scatter.default",
              {whole, part, argumentOf(producer, 1, "dim"), argumentOf(producer, 2, "index")});
  if (name == "slice") {
    Argument step = argumentOf(producer, 4, "step");
    return is("aten.slice_scatter.default",
              {whole, part, argumentOf(producer, 1, "dim"), argumentOf(producer, 2, "start"),
               argumentOf(producer, 3, "end"),
               std::holds_alternative<std::monostate>(step) ? Argument(int64_t(1)) : step});
  }
  if (name == "narrow") // the size of the part determines the end
    return is("aten.slice_scatter.default",
              {whole, part, argumentOf(producer, 1, "dim"), argumentOf(producer, 2, "start")});
  if (name == "unbind")
    return is("aten.select_scatter.default", {whole, part, dimOf(producer, 1), int64_t(tensor.result)});
  if (isOneOf(name, " chunk split split_with_sizes ")) {
    int64_t dim = dimOf(producer, 2), offset = 0;
    dim += dim < 0 ? rank : 0;
    for (unsigned i = 0; i < tensor.result; ++i) {
      const auto *other = std::get_if<TensorName>(&producer.results[i]);
      const exported::TensorMeta *meta = other ? metaOf(other->name) : nullptr;
      const auto *size =
          meta && dim >= 0 && dim < int64_t(meta->sizes.size()) ? std::get_if<int64_t>(&meta->sizes[dim]) : nullptr;
      if (!size || __builtin_add_overflow(offset, *size, &offset))
        return node; // an unused part has no size in the file, and symbolic sizes are not supported
    }
    return is("aten.slice_scatter.default", {whole, part, dim, offset});
  }
  // Other views can be inverted by a reshape if they have all elements of the parent in the same order. Views that lack
  // elements, or that have an element several times, cannot be inverted.
  const Aliasing aliasing = aliasingOf(producer.target);
  const bool same = before->sizes == after->sizes && before->strides == after->strides;
  const bool ordered = aliasing == Aliasing::Alias || aliasing == Aliasing::Reshape ||
                       aliasing == Aliasing::Conversion || aliasing == Aliasing::Inference ||
                       isOneOf(name, " _reshape_alias _unsafe_view squeeze unflatten unsqueeze view view_as ");
  if (before->dtype == after->dtype &&
      (ordered || (same && isOneOf(name, " as_strided broadcast_to diagonal expand expand_as ")))) {
    ArgumentList sizes;
    for (const Size &size : before->sizes)
      sizes.push_back(number(size));
    return is("aten.reshape.default", {part, sizes});
  }
  return node;
}

ExportedMemory::Nodes ExportedMemory::write(const exported::Node &node, std::string &why) {
  const TensorName *self = firstTensor(node);
  auto found = self ? tensors.find(self->name) : tensors.end();
  const auto *result = node.results.size() == 1 ? std::get_if<TensorName>(&node.results[0]) : nullptr;
  if (found == tensors.end() || !result || tensors.contains(result->name)) {
    why = "it writes in place, but its result is not a single tensor with a new name";
    return {};
  }
  Memory &memory = memories[found->second.memory];
  const exported::TensorMeta *before = metaOf(self->name), *after = metaOf(result->name);
  if (!before || !after || before->sizes != after->sizes || before->dtype != after->dtype || isShaper(node.target))
    why = "it changes the shape or the dtype of a tensor in place";
  else if (memory.caller)
    why = "it writes an input or a weight in place, and a compiled model keeps no state between calls";
  else if (memory.unclear)
    why = "it writes in place a tensor of which other tensors may be views; export with tilewright.export, or "
          "run_decompositions() before the program is saved";
  if (!why.empty())
    return {};
  exported::Node plain = node;
  plain.target = functional(node.target);
  plain.results = {*self};
  Nodes nodes = {keep(std::move(plain))};
  unsigned version = ++memory.version;
  for (auto tensor = found; tensor->second.producer; tensor = tensors.find(tensor->second.parent)) {
    exported::Node up = inverse(tensor->first().str());
    if (up.target.empty()) {
      why = "it writes in place a view made by " + tensor->second.producer->target +
            "; export with tilewright.export, or run_decompositions() before the program is saved";
      return {};
    }
    nodes.push_back(keep(std::move(up)));
    tensor->second.version = version;
  }
  exported::Node name;
  name.target = "aten.alias.default";
  name.positional = {*self};
  name.results = {*result};
  nodes.push_back(keep(std::move(name)));
  add(result->name, {self->name, nodes.back(), 0, found->second.memory, version});
  return nodes;
}

} // namespace tilewright
