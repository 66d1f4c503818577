//===- ReadGraph.cpp - nodes, their arguments, and tensor metadata -------------------===//
#include "lib/Import/TorchExport/Reader/Reader.h"
#include "lib/Import/TorchExport/Reader/SizeText.h"

#include <charconv>

namespace tilewright::exported {
namespace {

struct DtypeRow {
  int64_t code; ///< number of the dtype in the file, or -1
  const char *name;
  unsigned bits;
};
constexpr DtypeRow dtypes[] = {
#define TW_DTYPE(ENUM, NAME, BITS, IR, DLPACK, EXPORT, ...) {EXPORT, NAME, BITS},
#define TW_FILE_DTYPE(ENUM, NAME, BITS, EXPORT, ...) {EXPORT, NAME, BITS},
#include "dialects/Graph/Dtypes.def"
};

constexpr int64_t stridedLayout = 7;
constexpr size_t highestRank = 64;

const char *memoryFormatName(int64_t code) {
  switch (code) {
  case 1:
    return "contiguous_format";
  case 2:
    return "channels_last";
  case 3:
    return "channels_last_3d";
  case 4:
    return "preserve_format";
  default:
    return nullptr;
  }
}

template <typename Read> ArgumentList listOf(const JsonView &view, Read &&read) {
  ArgumentList list;
  for (const JsonView &item : view.list())
    list.push_back(read(item));
  return list;
}

/// Reads {"as_name": n} or {"as_int": 3}.
Argument readSymbolicInt(const JsonView &view, const SizesByName &sizes) {
  auto [kind, value] = view.alternative();
  if (kind == "as_int")
    return value.integer();
  std::string name = value.text();
  if (!view.ok())
    return {};
  auto found = sizes.find(name);
  if (kind != "as_name" || found == sizes.end()) {
    view.fail("'" + name + "' is not a symbolic int of this graph");
    return {};
  }
  if (const auto *number = std::get_if<int64_t>(&found->second))
    return *number;
  return SizeValue{found->second};
}

/// Reads a symbolic float or bool. Returns its value if it is a constant, otherwise an unsupported argument
/// (`Foreign`).
Argument readSymbolicOther(const JsonView &view, const char *what) {
  auto [kind, value] = view.alternative();
  if (kind == "as_float")
    return value.number();
  if (kind == "as_bool")
    return value.flag();
  return Foreign{what};
}

Argument readTensorName(const JsonView &view, const Graph &graph) {
  std::string name = view["name"].text();
  if (view.ok() && !graph.tensors.count(name))
    view.fail("'" + name + "' is not a tensor of this graph");
  return TensorName{name};
}

Argument readOptionalTensor(const JsonView &view, const Graph &graph) {
  auto [kind, value] = view.alternative();
  return kind == "as_tensor" ? readTensorName(value, graph) : Argument();
}

bool isTorchs(const std::string &file) {
  return file.starts_with("torch/") || file.find("site-packages/torch/") != file.npos ||
         file.find("dist-packages/torch/") != file.npos;
}

/// Returns the innermost frame of a stack trace that is not in torch. If all frames are in torch, returns the outermost
/// one. A frame is a line of the form `File "model.py", line 7, in forward`.
std::optional<SourceLocation> locationIn(const std::string &trace) {
  std::optional<SourceLocation> found;
  for (size_t at = trace.find("File \""); at != trace.npos; at = trace.find("File \"", at)) {
    at += 6;
    size_t end = trace.find('\n', at);
    std::string_view row = std::string_view(trace).substr(at, end == trace.npos ? end : end - at);
    size_t quote = row.find("\", line ");
    if (quote == row.npos)
      continue;
    SourceLocation location{std::string(row.substr(0, quote)), 0, ""};
    row.remove_prefix(quote + 8);
    auto [rest, problem] = std::from_chars(row.data(), row.data() + row.size(), location.line);
    if (problem != std::errc() || location.line < 0)
      continue;
    row.remove_prefix(rest - row.data());
    if (row.starts_with(", in "))
      location.function = row.substr(5);
    if (!found || !isTorchs(location.file))
      found = std::move(location);
  }
  return found;
}

/// Reads a node's results. Lists of tensors are replaced by their elements.
void readResults(const JsonView &view, const Graph &graph, const SizesByName &sizes, std::vector<Argument> &results) {
  for (const JsonView &output : view.list()) {
    Argument result = readArgument(output, graph, sizes);
    if (auto *list = std::get_if<ArgumentList>(&result))
      for (Argument &item : *list)
        results.push_back(std::move(item));
    else
      results.push_back(std::move(result));
  }
}

Node readNode(const JsonView &view, const Graph &graph, const SizesByName &sizes) {
  Node node;
  node.target = view["target"].text();
  constexpr std::string_view prefix = "torch.ops.";
  if (node.target.starts_with(prefix))
    node.target.erase(0, prefix.size());
  for (const JsonView &input : view["inputs"].list()) {
    constexpr int64_t keyword = 2;
    std::optional<JsonView> kind = input.find("kind");
    Argument value = readArgument(input["arg"], graph, sizes);
    // All arguments after a keyword argument are keyword arguments, too.
    if ((kind && kind->integer() == keyword) || !node.named.empty())
      node.named.push_back({input["name"].text(), std::move(value)});
    else
      node.positional.push_back(std::move(value));
  }
  readResults(view["outputs"], graph, sizes, node.results);
  if (std::optional<JsonView> metadata = view.find("metadata"))
    if (std::optional<JsonView> trace = metadata->find("stack_trace"))
      node.location = locationIn(trace->text());
  return node;
}

constexpr const char *gradTarget = "torch.ops.higher_order.wrap_with_set_grad_enabled";
constexpr unsigned deepestGraph = 16;

void readNodes(const JsonView &view, Graph &graph, const SizesByName &sizes, unsigned depth);

void addPrefix(Argument &argument, const std::string &prefix) {
  if (auto *tensor = std::get_if<TensorName>(&argument))
    tensor->name.insert(0, prefix);
  if (auto *list = std::get_if<ArgumentList>(&argument))
    for (Argument &item : *list)
      addPrefix(item, prefix);
}

/// Reads wrap_with_set_grad_enabled(flag, graph, arguments...), with which torch represents a part of a model under
/// torch.no_grad(). The nodes of the inner graph are inlined: the names of their tensors get a prefix, and
/// aten.alias nodes connect the inner graph's inputs and outputs with the tensors of the outer graph.
void readNested(const JsonView &view, Graph &graph, const SizesByName &sizes, unsigned depth) {
  std::vector<JsonView> inputs = view["inputs"].list();
  auto [kind, argument] =
      inputs.size() < 2 ? std::pair<std::string, JsonView>("", view) : inputs[1]["arg"].alternative();
  if (kind != "as_graph" || depth >= deepestGraph)
    return view.fail(kind == "as_graph" ? "graphs are nested too deeply" : "a graph is expected");
  JsonView body = argument["graph"];
  Graph inner;
  SizesByName innerSizes;
  for (const auto &[name, meta] : body["tensor_values"].members())
    inner.tensors[name] = readTensorMeta(meta);
  for (const auto &[name, size] : body["sym_int_values"].members())
    innerSizes[name] = readSize(size);
  std::vector<Argument> given, taken, made, results;
  for (size_t i = 2; i < inputs.size(); ++i)
    given.push_back(readArgument(inputs[i]["arg"], graph, sizes));
  for (const JsonView &input : body["inputs"].list())
    taken.push_back(readArgument(input, inner, innerSizes));
  readNodes(body["nodes"], inner, innerSizes, depth + 1);
  readResults(body["outputs"], inner, innerSizes, made);
  readResults(view["outputs"], graph, sizes, results);
  if (view.ok() && (given.size() != taken.size() || made.size() < results.size()))
    view.fail("the inputs or outputs of its graph do not match its arguments or results");
  if (!view.ok())
    return;
  const std::string prefix = "graph" + std::to_string(graph.nodes.size()) + "/";
  auto alias = [&](const Argument &from, const Argument &to) {
    if (std::holds_alternative<TensorName>(from) && std::holds_alternative<TensorName>(to))
      graph.nodes.push_back({"aten.alias.default", {from}, {}, {to}, {}});
  };
  for (auto &[name, meta] : inner.tensors)
    graph.tensors[prefix + name] = std::move(meta);
  for (size_t i = 0; i < given.size(); ++i) {
    addPrefix(taken[i], prefix);
    alias(given[i], taken[i]);
  }
  for (Node &node : inner.nodes) {
    for (Argument &one : node.positional)
      addPrefix(one, prefix);
    for (auto &[name, one] : node.named)
      addPrefix(one, prefix);
    for (Argument &one : node.results)
      addPrefix(one, prefix);
    graph.nodes.push_back(std::move(node));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    addPrefix(made[i], prefix);
    alias(made[i], results[i]);
  }
}

void readNodes(const JsonView &view, Graph &graph, const SizesByName &sizes, unsigned depth) {
  for (const JsonView &node : view.list())
    if (node["target"].text() == gradTarget)
      readNested(node, graph, sizes, depth);
    else
      graph.nodes.push_back(readNode(node, graph, sizes));
}

} // namespace

std::string dtypeNameOf(int64_t code) {
  for (const DtypeRow &row : dtypes)
    if (row.code == code && code >= 0)
      return row.name;
  return "";
}

unsigned elementBytes(const std::string &dtype) {
  for (const DtypeRow &row : dtypes)
    if (row.name == dtype)
      return row.bits / 8;
  return 0;
}

Size readSize(const JsonView &view) {
  auto [kind, value] = view.alternative();
  if (kind == "as_int")
    return value.integer();
  if (kind != "as_expr") {
    view.fail("a size is expected");
    return int64_t(0);
  }
  std::string text = value["expr_str"].text();
  if (std::string problem = checkSizeText(text); view.ok() && !problem.empty())
    view.fail("the size '" + text.substr(0, 80) + "' " + problem);
  return text;
}

TensorMeta readTensorMeta(const JsonView &view) {
  TensorMeta meta;
  int64_t code = view["dtype"].integer();
  meta.dtype = dtypeNameOf(code);
  if (view.ok() && meta.dtype.empty())
    view["dtype"].fail("no dtype has the number " + std::to_string(code));
  for (const JsonView &size : view["sizes"].list()) {
    meta.sizes.push_back(readSize(size));
    const auto *number = std::get_if<int64_t>(&meta.sizes.back());
    if (number && (*number < 0 || *number > int64_t(1) << 48))
      size.fail("no tensor has the size " + std::to_string(*number));
  }
  for (const JsonView &stride : view["strides"].list())
    meta.strides.push_back(readSize(stride));
  meta.offset = readSize(view["storage_offset"]);
  meta.device = view["device"]["type"].text();
  meta.strided = view["layout"].integer() == stridedLayout;
  if (view.ok() && (meta.sizes.size() > highestRank || (meta.strided && meta.sizes.size() != meta.strides.size())))
    view.fail("a tensor has at most " + std::to_string(highestRank) + " sizes, and as many strides");
  return meta;
}

Argument readArgument(const JsonView &view, const Graph &graph, const SizesByName &sizes) {
  auto [kind, value] = view.alternative();
  auto sizeOf = [&](const JsonView &item) { return readSymbolicInt(item, sizes); };
  auto tensorOf = [&](const JsonView &item) { return readTensorName(item, graph); };
  auto number = [](const JsonView &item) -> Argument { return item.number(); };
  auto integer = [](const JsonView &item) -> Argument { return item.integer(); };
  auto text = [](const JsonView &item) -> Argument { return item.text(); };
  if (kind == "as_none")
    return {};
  if (kind == "as_tensor")
    return tensorOf(value);
  if (kind == "as_tensors")
    return listOf(value, tensorOf);
  if (kind == "as_optional_tensor")
    return readOptionalTensor(value, graph);
  if (kind == "as_optional_tensors")
    return listOf(value, [&](const JsonView &item) { return readOptionalTensor(item, graph); });
  if (kind == "as_int")
    return value.integer();
  if (kind == "as_ints")
    return listOf(value, integer);
  if (kind == "as_int_lists")
    return listOf(value, [&](const JsonView &item) -> Argument { return listOf(item, integer); });
  if (kind == "as_float")
    return value.number();
  if (kind == "as_floats")
    return listOf(value, number);
  if (kind == "as_float_lists")
    return listOf(value, [&](const JsonView &item) -> Argument { return listOf(item, number); });
  if (kind == "as_bool")
    return value.flag();
  if (kind == "as_bools")
    return listOf(value, [](const JsonView &item) -> Argument { return item.flag(); });
  if (kind == "as_string")
    return value.text();
  if (kind == "as_strings")
    return listOf(value, text);
  if (kind == "as_sym_int")
    return sizeOf(value);
  if (kind == "as_sym_ints")
    return listOf(value, sizeOf);
  if (kind == "as_sym_float")
    return readSymbolicOther(value, "a symbolic float");
  if (kind == "as_sym_floats")
    return listOf(value, [](const JsonView &item) { return readSymbolicOther(item, "a symbolic float"); });
  if (kind == "as_sym_bool")
    return readSymbolicOther(value, "a symbolic bool");
  if (kind == "as_sym_bools")
    return listOf(value, [](const JsonView &item) { return readSymbolicOther(item, "a symbolic bool"); });
  if (kind == "as_scalar_type") {
    std::string name = dtypeNameOf(value.integer());
    return name.empty() ? Argument(Foreign{"an unknown dtype"}) : Argument(DtypeName{name});
  }
  if (kind == "as_memory_format") {
    const char *name = memoryFormatName(value.integer());
    return name ? Argument(std::string(name)) : Argument(Foreign{"an unknown memory format"});
  }
  if (kind == "as_layout")
    return value.integer() == stridedLayout ? Argument(std::string("strided")) : Argument(Foreign{"a sparse layout"});
  if (kind == "as_device")
    return value["type"].text();
  if (kind == "as_graph")
    return Foreign{"a graph"};
  if (kind == "as_custom_obj")
    return Foreign{"an object of a custom class"};
  if (kind == "as_operator")
    return Foreign{"an operator"};
  if (kind == "as_complex")
    return Foreign{"a complex number"};
  if (kind.starts_with("as_"))
    return Foreign{"of the kind " + kind};
  view.fail("an argument is expected, not '" + kind + "'");
  return {};
}

void readGraph(const JsonView &view, Graph &graph, SizesByName &sizes) {
  for (const auto &[name, meta] : view["tensor_values"].members())
    graph.tensors[name] = readTensorMeta(meta);
  for (const auto &[name, size] : view["sym_int_values"].members())
    sizes[name] = readSize(size);
  readNodes(view["nodes"], graph, sizes, 0);
}

} // namespace tilewright::exported
